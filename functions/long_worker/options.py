"""What a long worker reads from its environment besides the settings that all parts have."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cronfleet.settings import SettingsError

JOBS: Final = "CRONFLEET_LONG_JOBS"
STOP_SECONDS: Final = "CRONFLEET_LONG_STOP_SECONDS"
PROTECTION_MINUTES: Final = "CRONFLEET_LONG_PROTECTION_MINUTES"
FOLDER: Final = "CRONFLEET_LONG_FOLDER"

AGENT: Final = "ECS_AGENT_URI"
METADATA: Final = "ECS_CONTAINER_METADATA_URI_V4"
"""Set by ECS in its tasks, and nowhere else."""

MOST_JOBS: Final = 64
LONGEST_STOP_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class Options:
    """`jobs` go on at once, in processes of their own; `stop_seconds` lie between SIGTERM and SIGKILL."""

    jobs: int
    stop_seconds: int
    protection_minutes: int
    folder: Path
    agent: str
    metadata: str


def options_of(environment: Mapping[str, str] | None = None) -> Options:
    """The options of this process; raises `SettingsError`."""
    env = os.environ if environment is None else environment
    return Options(
        jobs=_number(env, JOBS, 1, MOST_JOBS),
        stop_seconds=_number(env, STOP_SECONDS, 120, LONGEST_STOP_SECONDS),
        protection_minutes=_number(env, PROTECTION_MINUTES, 150, 2_880),
        folder=Path(env.get(FOLDER) or Path(tempfile.gettempdir(), "cronfleet-long-worker")),
        agent=env.get(AGENT, ""),
        metadata=env.get(METADATA, ""),
    )


def _number(env: Mapping[str, str], name: str, default: int, most: int) -> int:
    written = env.get(name) or str(default)
    if not written.isdecimal() or not 1 <= int(written) <= most:
        raise SettingsError(f"{name} is {written!r}: write a whole number from 1 to {most}")
    return int(written)
