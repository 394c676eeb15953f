"""Heartbeats: the URL that a job outside pings, and its pings.

A token is the public name of the URL and a secret of 160 random bits behind it. Of the secret only a digest is kept,
so that whoever reads the store can ping nothing. A URL belongs to one life of a schedule: after a deletion it is dead.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.audit import base32
from cronfleet.domain.errors import RateLimited
from cronfleet.domain.instant import DAY, MINUTE, Instant

NAME_LENGTH: Final = 26
SECRET_BYTES: Final = 20
SECRET_LENGTH: Final = SECRET_BYTES * 8 // 5

MAX_PINGS_PER_MINUTE: Final = 240
"""Of one URL: a job of each second may say that it starts and that it ends, and that twice over."""

PING_LIFE: Final = 30 * DAY
"""As long as rows of the ledger live, with which pings are compared."""

MAX_MESSAGE: Final = 500


class PingState(StrEnum):
    """What a ping says of the job that sends it."""

    START = "start"
    SUCCESS = "success"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A schedule's heartbeat URL. `since` is when this life of the schedule got its first, `made_at` the current one.

    `minute` counts minutes since the epoch, in the latest of which the URL was pinged `pings` times. `change_id` names
    the latest write.
    """

    tenant: str
    schedule_id: str
    born_epoch: int
    digest: str
    made_by: str
    made_at: Instant
    since: Instant
    change_id: str
    minute: int = 0
    pings: int = 0

    @property
    def name(self) -> str:
        """The public part of its tokens."""
        return heartbeat_name(self.tenant, self.schedule_id)


@dataclass(frozen=True, slots=True)
class Ping:
    """What a job said of itself, and when that was heard."""

    tenant: str
    schedule_id: str
    ping_id: str
    at: Instant
    state: PingState = PingState.SUCCESS
    exit_code: int | None = None
    message: str = ""

    @property
    def expires_at(self) -> Instant:
        """When it may be forgotten."""
        return self.at + PING_LIFE


def heartbeat_name(tenant: str, schedule_id: str) -> str:
    """The public name of a schedule's URL, which tells neither tenant nor schedule to whom does not know them."""
    content = hashlib.sha256(f"heartbeat~{tenant}~{schedule_id}".encode()).digest()
    return base32(int.from_bytes(content, "big"), NAME_LENGTH)


def token_of(name: str, secret: bytes) -> str:
    """The token of a URL: its name and `SECRET_BYTES` random bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a secret has {SECRET_BYTES} bytes, not {len(secret)}")
    return name + base32(int.from_bytes(secret, "big"), SECRET_LENGTH)


def name_in(token: str) -> str:
    """The name that `token` begins with, whatever it is."""
    return token[:NAME_LENGTH]


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def is_token_of(token: str, heartbeat: Heartbeat | None) -> bool:
    """Whether `token` is this URL's; as long in the finding when there is no such URL."""
    kept = "" if heartbeat is None else heartbeat.digest
    return hmac.compare_digest(digest_of(token), kept)


def counted(heartbeat: Heartbeat, now: Instant, change_id: str) -> Heartbeat:
    """The URL after one more ping; `RateLimited` past the limit of a minute."""
    minute = now // MINUTE
    pings = heartbeat.pings + 1 if minute <= heartbeat.minute else 1
    if pings > MAX_PINGS_PER_MINUTE:
        raise RateLimited(
            f"this URL has been pinged {MAX_PINGS_PER_MINUTE} times this minute; one ping for each run is enough"
        )
    return replace(heartbeat, minute=max(minute, heartbeat.minute), pings=pings, change_id=change_id)
