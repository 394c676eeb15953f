"""Profiles: which installation a command speaks to, and with which key.

`CRONFLEET_URL` and `CRONFLEET_KEY`, or a profile of `~/.config/cronfleet/config.toml`. An address and its key come from
one place always: a key is never sent where it was not meant to go.
"""

import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cronfleet_cli.errors import WrongUse

URL: Final = "CRONFLEET_URL"
KEY: Final = "CRONFLEET_KEY"
TENANT: Final = "CRONFLEET_TENANT"
PROFILE: Final = "CRONFLEET_PROFILE"
CONFIG: Final = "CRONFLEET_CONFIG"

_KNOWN: Final = frozenset({"url", "key", "key_file", "tenant"})


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to ask: the address without a path, the key, the tenant to act for ("" for the key's own), and what says
    so (`environment`, or the profile's name).
    """

    url: str
    key: str
    tenant: str
    source: str


def connection_of(environment: Mapping[str, str], profile: str | None, tenant: str | None) -> Connection:
    """The connection that a command uses; raises `WrongUse` if nothing names one.

    `profile` (from `--profile`) goes before the environment, and that before the configuration's default.
    """
    if profile is None and (URL in environment or KEY in environment):
        return _of_environment(environment, tenant)
    path = config_path(environment)
    config = read_config(path)
    name = profile or environment.get(PROFILE) or config.get("default")
    if not name:
        raise WrongUse(
            f"no installation is named: set {URL} and {KEY}, or write a profile to {path} and choose it with --profile"
        )
    return _of_profile(str(name), config, path, tenant or environment.get(TENANT))


def _of_environment(environment: Mapping[str, str], tenant: str | None) -> Connection:
    for name, other in ((URL, KEY), (KEY, URL)):
        if not environment.get(name):
            raise WrongUse(f"{other} is set and {name} is not: set both, or neither and use a profile")
    return Connection(
        _address(environment[URL], URL),
        _key(environment[KEY], KEY),
        tenant or environment.get(TENANT, ""),
        "environment",
    )


def _of_profile(name: str, config: Mapping[str, Any], path: Path, tenant: str | None) -> Connection:
    profiles = config.get("profiles", {})
    if name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise WrongUse(f"there is no profile {name!r} in {path}; known are: {known}")
    said, where = profiles[name], f"profiles.{name} in {path}"
    unknown = sorted(set(said) - _KNOWN)
    if unknown:
        raise WrongUse(f"{where}: {unknown[0]} is no setting; known are: {', '.join(sorted(_KNOWN))}")
    if "url" not in said or ("key" in said) == ("key_file" in said):
        raise WrongUse(f"{where}: needs url, and either key or key_file")
    if "key" in said:
        _require_private(path)
        key = str(said["key"])
    else:
        key = _key_in(Path(str(said["key_file"])).expanduser())
    return Connection(_address(str(said["url"]), where), _key(key, where), tenant or str(said.get("tenant", "")), name)


def config_path(environment: Mapping[str, str]) -> Path:
    """Where profiles are."""
    if CONFIG in environment:
        return Path(environment[CONFIG]).expanduser()
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "cronfleet" / "config.toml"


def read_config(path: Path) -> dict[str, Any]:
    """What stands there: `default` and `profiles`; nothing where there is no file. Raises `WrongUse` if unreadable."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{path} cannot be read: {error}") from error
    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path}: {error}") from error
    profiles = config.get("profiles", {})
    if not isinstance(profiles, dict) or not all(isinstance(said, dict) for said in profiles.values()):
        raise WrongUse(f"{path}: write each profile under a heading of its own, [profiles.NAME]")
    return config


def _address(text: str, where: str) -> str:
    address = text.strip().rstrip("/").removesuffix("/v1")
    if not address.startswith(("https://", "http://")):
        raise WrongUse(f"{where}: {text!r} is no address; write https://… or http://…")
    return address


def _key(text: str, where: str) -> str:
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise WrongUse(f"{where}: the key is empty or holds characters that no key has")
    return key


def _key_in(path: Path) -> str:
    _require_private(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"key_file {path} cannot be read: {error}") from error


def _require_private(path: Path) -> None:
    """Refuses a key that other users of this machine can read, as ssh does."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # Whoever reads it says what is wrong.
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise WrongUse(f"{path} holds a key and others can read it: chmod 600 {path}")
