"""The agent of ECS, which a task asks about itself, and asks to be spared: an HTTP address that only the task has."""

import contextlib
import fcntl
import json
import logging
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

import urllib3

from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.ports.clock import Clock

AGENT_URI: Final = "ECS_AGENT_URI"
"""The variable in which ECS says where the agent is."""
METADATA_URI: Final = "ECS_CONTAINER_METADATA_URI_V4"
"""The variable in which ECS says where a container's metadata is."""

EXPIRES_MINUTES: Final = 30
"""How long a protection lasts that nobody renews: of a process that died in mid-work it is all that is left."""

RENEW_AFTER: Final = 10 * MINUTE
TRY_AGAIN_AFTER: Final = MINUTE
"""How soon the agent is asked again that did not answer, or refused."""

SOMEBODY: Final = "?"
"""A place that nobody has, for those that cannot be known."""

TIMEOUT: Final = urllib3.Timeout(connect=1, read=3)

logger = logging.getLogger(__name__)


class TaskProtection:
    """Implements `Protection` for one of the workers of an ECS task.

    A task is protected, or it is not: so its workers, which are processes, share the file `shared` and its lock. Each
    has a `place` of its own in it, and the last that has no job lets go. A job that goes on for longer than
    `longest_minutes` protects no more: nobody could deploy a new version while it lasts.
    """

    def __init__(self, *, agent: str, shared: Path, place: int, longest_minutes: int, clock: Clock) -> None:
        self._url = f"{agent}/task-protection/v1/state"
        self._shared = shared
        self._place = str(place)
        self._longest = longest_minutes * MINUTE
        self._clock = clock
        self._http = urllib3.PoolManager(retries=False)
        self._began_at: Instant | None = None
        self._asked_at: Instant = 0
        self._is_granted = False

    def begin(self) -> None:
        """See `Protection.begin`."""
        now = self._clock.now()
        self._began_at = now
        with self._busy_places() as busy:
            busy.add(self._place)
            self._ask(now, is_wanted=True)

    def look(self) -> None:
        """See `Protection.look`."""
        now, began_at = self._clock.now(), self._began_at
        pause = RENEW_AFTER if self._is_granted else TRY_AGAIN_AFTER
        if began_at is None or now - began_at >= self._longest or 0 <= now - self._asked_at < pause:
            return
        with self._busy_places():
            self._ask(now, is_wanted=True)

    def end(self) -> None:
        """See `Protection.end`."""
        if self._began_at is None:
            return
        self._began_at = None
        with self._busy_places() as busy:
            busy.discard(self._place)
            if not busy:
                self._ask(self._clock.now(), is_wanted=False)

    @contextmanager
    def _busy_places(self) -> Iterator[set[str]]:
        """The places that have jobs, to be changed while no other process can.

        A job that has filled the disk must not end the next ones, which need none. Where it is not known who else has a
        job, somebody is taken to have one: the protection is not let go of, and ends by itself.
        """
        try:
            file = self._shared.open("a+")
        except OSError as error:
            logger.warning("task_protection_unshared: %s", error)
            yield {SOMEBODY}
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = set(file.read().split())
            busy = set(before)
            yield busy
            if busy != before:
                _write(file, busy)
        finally:
            with contextlib.suppress(OSError):
                file.close()

    def _ask(self, now: Instant, *, is_wanted: bool) -> None:
        self._asked_at, self._is_granted = now, False
        wanted: dict[str, Any] = {"ProtectionEnabled": is_wanted}
        if is_wanted:
            wanted["ExpiresInMinutes"] = EXPIRES_MINUTES
        try:
            answer = self._http.request("PUT", self._url, json=wanted, timeout=TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            logger.warning("task_protection_unanswered: %s", error)
            return
        self._is_granted = answer.status == 200 and "protection" in _object(answer.data)
        if not self._is_granted:
            logger.warning("task_protection_refused: HTTP %s %s", answer.status, answer.data[:300])


def _write(file: TextIO, busy: Set[str]) -> None:
    try:
        file.truncate(0)
        file.write(" ".join(sorted(busy)))
        file.flush()
    except OSError as error:
        logger.warning("task_protection_unshared: %s", error)


def log_place(metadata: str) -> LogPlace | None:
    """Where the log of the container goes whose metadata are at this address; `None` where they do not say so."""
    try:
        answer = urllib3.PoolManager(retries=False).request("GET", metadata, timeout=TIMEOUT)
    except urllib3.exceptions.HTTPError as error:
        logger.warning("metadata_unanswered: %s", error)
        return None
    options = _object(answer.data).get("LogOptions")
    if not isinstance(options, dict) or not options.get("awslogs-group"):
        return None
    return LogPlace(options.get("awslogs-region", ""), options["awslogs-group"], options.get("awslogs-stream", ""))


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
