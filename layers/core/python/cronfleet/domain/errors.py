"""What can go wrong in the caller's eyes. `functions/api/problems.py` maps each class to an RFC 9457 problem.

Every message says what was wrong, where, and what to write instead.
"""

from collections.abc import Sequence

from cronfleet.domain.role import Role


class CronfleetError(Exception):
    """The base of every error that the product raises on purpose."""


class Invalid(CronfleetError):
    """A value the caller gave cannot be used.

    `field` is a dotted path into the request (`trigger.cron`), `reason` a sentence that says what to write instead.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason

    def under(self, parent: str) -> "Invalid":
        """The same error, with its field below `parent`."""
        return Invalid(f"{parent}.{self.field}" if self.field else parent, self.reason)


class NotFound(CronfleetError):
    """There is no such thing, or it belongs to another tenant: the caller cannot tell which."""

    def __init__(self, what: str, name: str, field: str = "") -> None:
        super().__init__(f"there is no {what} {name!r}")
        self.what = what
        self.name = name
        self.field = field
        """What of the body named it; empty: it is in the path."""


class Conflict(CronfleetError):
    """The thing is in a state that does not allow this; the message names the state and what is allowed."""


class Exists(CronfleetError):
    """The caller asked for a schedule to be created under an id that has one (`If-None-Match: *`, or POST)."""

    def __init__(self, schedule_id: str, etag: str) -> None:
        super().__init__(f"there is a schedule {schedule_id!r} (ETag {etag}); use PATCH, or PUT with If-Match")
        self.etag = etag


class KeyReused(CronfleetError):
    """The Idempotency-Key was used for another request; the first one's answer is kept."""

    def __init__(self, key: str) -> None:
        super().__init__(f"Idempotency-Key {key!r} was used for a different request; use a new key for a new request")


class Stale(CronfleetError):
    """The caller's If-Match names a version that is no longer the current one."""

    def __init__(self, expected: Sequence[str], current: str, what: str = "schedule") -> None:
        super().__init__(
            f"the {what} has changed: If-Match was {', '.join(expected)}, the current ETag is {current}; read it again"
        )
        self.current = current


class Forbidden(CronfleetError):
    """The caller's role does not suffice; `needed` is the least that would."""

    def __init__(self, needed: Role, role: Role) -> None:
        super().__init__(f"this takes the role {needed} or one above it; this credential has the role {role}")
        self.needed = needed
        self.role = role


class Contended(CronfleetError):
    """The store kept answering with conflicting writes of others for longer than a named limit; nothing was changed."""


class QuotaExceeded(CronfleetError):
    """More than the tenant may have. `quota` is its name, `limit` the most, `use` what there is (of a size: what was
    asked for).
    """

    def __init__(self, quota: str, use: int, limit: int, hint: str) -> None:
        super().__init__(f"the quota {quota} is {limit:,}: {hint}")
        self.quota = quota
        self.use = use
        self.limit = limit


class Miscounted(CronfleetError):
    """A change of many schedules would change another number of them than its caller has counted; `count` is it."""

    def __init__(self, expected: int, count: int, what: str = "schedules") -> None:
        super().__init__(f"{count:,} {what} match now, not {expected:,}; count again with dry_run=true")
        self.expected = expected
        self.count = count


class RateLimited(CronfleetError):
    """More was asked than one may ask in a time; the message names the limit, `field` what it is a limit of."""

    def __init__(self, message: str, *, field: str = "token", retry_after_seconds: int = 60) -> None:
        super().__init__(message)
        self.field = field
        self.retry_after_seconds = retry_after_seconds


class ClockSkewed(CronfleetError):
    """This process's clock is too far from the store's; it does nothing (promise 9)."""

    def __init__(self, skew_ms: int) -> None:
        super().__init__(
            f"this process's clock is {skew_ms / 1000:+.1f} s from the store's; it does nothing until they agree"
        )
        self.skew_ms = skew_ms


class OnStandby(CronfleetError):
    """The installation is a standby: it can be read, and nothing in it be changed."""

    def __init__(self, why: str) -> None:
        super().__init__(f"nothing can be changed here, since {why}; ask the active installation, or release this one")


class TenantSuspended(CronfleetError):
    """The caller's tenant is suspended, or is being deleted: its credentials may read, or do nothing at all."""

    def __init__(self, tenant: str, status: str, reason: str) -> None:
        may = "its credentials may read and change nothing" if status == "suspended" else "nothing of it is to be had"
        super().__init__(f"tenant {tenant!r} is {status}{f': {reason}' if reason else ''}; {may}")
        self.status = status
        self.reason = reason
