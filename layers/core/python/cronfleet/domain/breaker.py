"""Breakers: a target that fails again and again is left alone for a while, and then tried with care.

A breaker is a tenant's and a target's: the address of a webhook without its query, a Lambda function, a handler, or
another thing by its ARN. It opens after `FAILURES` failed attempts; attempts that come while it is open wait, and are
not used up. Once its cooldown is over one attempt goes through, the probe; if that succeeds, two may go, then four, and
so on (`STEP` apart), and after `LAST_STEP` the breaker is closed. Everything here is pure; `services/breakers.py` reads
and writes.

To succeed costs nothing: only failures are counted, in one item, until there are `SUSPECTED`; then the noticeboard asks
every worker to tell of a success, and one is enough to begin anew.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, ceil_second
from cronfleet.domain.noticeboard import Notice
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run
from cronfleet.domain.signature import target_kind
from cronfleet.domain.target import HandlerTarget, LambdaTarget, Target, WebhookTarget
from cronfleet.domain.target_role import resource_of

SUSPECTED: Final = 5
"""After so many failed attempts, none further from the one before than `WINDOW`, the workers tell of successes too."""

FAILURES: Final = 15
"""After so many a breaker opens: ten in a row, then, in which nobody had a success. A target that fails a third of the
time has that once in 60,000."""

WINDOW: Final = 10 * MINUTE

FIRST_COOLDOWN: Final = 30 * SECOND
LONGEST_COOLDOWN: Final = 5 * MINUTE
"""Between these the cooldown doubles with every probe that fails."""

PROBE_LEASE: Final = 15 * MINUTE
"""After so long without a word the probe's worker is dead, and another attempt may be the probe."""

PROBE_WAIT: Final = 10 * SECOND
"""How long others wait at least while a probe is under way."""

STEP: Final = 5 * SECOND
LAST_STEP: Final = 9
"""Slow start: 2 attempts in the first step after the probe, twice as many in each; 1,022 in all before it is closed."""

SPREAD: Final = 30 * SECOND
"""Over this the attempts that waited come back."""

LONGEST_WAIT: Final = HOUR
"""So long a run waits for a target at most; then it is dead, and can be redriven."""

FORGOTTEN: Final = DAY
"""A breaker that nobody has tried for so long is as good as closed."""

MAX_ERROR: Final = 200


class State(StrEnum):
    """Where a breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"
    RECOVERING = "recovering"


class BreakerKind(StrEnum):
    """What it guards."""

    WEBHOOK = "webhook"
    LAMBDA = "lambda"
    HANDLER = "handler"
    SQS = "sqs"
    SNS = "sns"
    EVENT_BUS = "event_bus"
    STATE_MACHINE = "state_machine"
    ECS_TASK = "ecs_task"
    SCHEDULE = "schedule"
    """A schedule whose runs die one after the other: it is paused meanwhile."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What a breaker is for; `name` is shown, and never holds a query or a secret."""

    tenant: str
    kind: BreakerKind
    name: str

    @property
    def breaker_id(self) -> str:
        """The kind, and a digest of the name."""
        return f"{self.kind.value}-{blake2b(self.name.encode(), digest_size=8).hexdigest()}"

    @property
    def notice(self) -> str:
        """What it is called on the noticeboard."""
        return f"{self.tenant}~{self.breaker_id}"


def guarded(tenant: str, target: Target) -> Guarded:
    """The breaker that calls of `target` go through."""
    match target:
        case WebhookTarget(url):
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port else ""
            return Guarded(tenant, BreakerKind.WEBHOOK, f"{parts.scheme}://{parts.hostname}{port}{parts.path or '/'}")
        case LambdaTarget(function):
            return Guarded(tenant, BreakerKind.LAMBDA, function)
        case HandlerTarget(name):
            return Guarded(tenant, BreakerKind.HANDLER, name)
        case _:
            # Whatever the role: a queue that is gone is gone for all of them.
            return Guarded(tenant, BreakerKind(target_kind(target)), resource_of(target))


@dataclass(frozen=True, slots=True)
class Breaker:
    """`failures` in a row, the latest at `failed_at` with `error`; open since `opened_at`, to be tried at `try_at`.

    `probe` names the attempt that is the probe; `permits` are those left of the `step` that ends at `try_at`.
    """

    guarded: Guarded
    state: State = State.CLOSED
    failures: int = 0
    failed_at: Instant = 0
    error: str = ""
    opened_at: Instant = 0
    try_at: Instant = 0
    cooldown: int = 0
    probe: str = ""
    step: int = 0
    permits: int = 0
    rev: int = 0
    change_id: str = ""

    def changed(self, rev: int, change_id: str) -> "Breaker":
        """As it is written in the place of one with `rev`."""
        return replace(self, rev=rev + 1, change_id=change_id)

    @property
    def is_suspected(self) -> bool:
        """Whether it is closed, and the workers are to tell of successes."""
        return self.state is State.CLOSED and self.failures >= SUSPECTED

    @property
    def notice(self) -> Notice | None:
        """What the noticeboard says of it: from when on an attempt may ask, and 0 while all may go."""
        if self.state is State.CLOSED:
            return Notice(0, self.failed_at + 2 * WINDOW) if self.is_suspected else None
        return Notice(self.try_at, self.try_at + FORGOTTEN)


def is_news(before: Breaker, after: Breaker) -> bool:
    """Whether the noticeboard has to say something else: not that a probe is under way, or how many may go."""
    if State.CLOSED in (before.state, after.state):
        return (before.state, before.is_suspected) != (after.state, after.is_suspected)
    return after.state is State.OPEN


def known(breaker: Breaker, now: Instant) -> Breaker:
    """The breaker, begun anew if nobody has tried it for long, or its failures are."""
    is_open = breaker.state is not State.CLOSED
    until = max(breaker.try_at, breaker.opened_at) + FORGOTTEN if is_open else breaker.failed_at + WINDOW
    return breaker if now < until else Breaker(breaker.guarded, rev=breaker.rev, change_id=breaker.change_id)


def failed(breaker: Breaker, attempt: str, error: str, now: Instant) -> Breaker:
    """After a failed attempt; the same where it changes nothing: one that was under way when the breaker opened."""
    counted = replace(breaker, failures=breaker.failures + 1, failed_at=now, error=error[:MAX_ERROR])
    match breaker.state:
        case State.CLOSED:
            return counted if counted.failures < FAILURES else _opened(counted, FIRST_COOLDOWN, now)
        case State.PROBING if attempt != breaker.probe:
            return breaker
        case State.PROBING | State.RECOVERING:
            return _opened(counted, min(2 * breaker.cooldown, LONGEST_COOLDOWN), now)
    return breaker


def _opened(breaker: Breaker, cooldown: int, now: Instant) -> Breaker:
    opened_at = now if breaker.state is State.CLOSED else breaker.opened_at
    try_at = ceil_second(now + cooldown)
    return replace(
        breaker, state=State.OPEN, opened_at=opened_at, try_at=try_at, cooldown=cooldown, probe="", step=0, permits=0
    )


def succeeded(breaker: Breaker, attempt: str, now: Instant) -> Breaker:
    """After an attempt that succeeded; the same where it changes nothing."""
    if breaker.state is State.CLOSED and breaker.failures:
        return replace(breaker, failures=0, error="")
    if breaker.state is State.PROBING and attempt == breaker.probe:
        return replace(breaker, state=State.RECOVERING, probe="", step=1, permits=2, try_at=now + STEP)
    return breaker


@dataclass(frozen=True, slots=True)
class Asked:
    """What becomes of an attempt: it goes (`until` is `None`), under the breaker as it is then, or waits."""

    breaker: Breaker
    until: Instant | None = None


def asked(breaker: Breaker, attempt: str, now: Instant) -> Asked:
    """Whether an attempt may call the target now. One that goes may change the breaker: that is written first."""
    match breaker.state:
        case State.CLOSED:
            return Asked(breaker)
        case State.OPEN | State.PROBING if now >= breaker.try_at:
            return Asked(replace(breaker, state=State.PROBING, probe=attempt, try_at=now + PROBE_LEASE))
        case State.RECOVERING if now >= breaker.try_at:
            return _next_step(breaker, now)
        case State.RECOVERING if breaker.permits:
            return Asked(replace(breaker, permits=breaker.permits - 1))
        case State.PROBING:
            return Asked(breaker, min(breaker.try_at, now + PROBE_WAIT))
    return Asked(breaker, breaker.try_at)


def _next_step(breaker: Breaker, now: Instant) -> Asked:
    """The next step has begun, and this attempt is its first; after the last the breaker is closed."""
    step = breaker.step + 1
    if step > LAST_STEP:
        return Asked(closed(breaker))
    return Asked(replace(breaker, step=step, permits=2**step - 1, try_at=now + STEP))


def closed(breaker: Breaker) -> Breaker:
    """The breaker once it is closed, by itself or by a person."""
    return Breaker(breaker.guarded, rev=breaker.rev, change_id=breaker.change_id)


def comes_back_at(run_id: str, until: Instant) -> Instant:
    """When a run that waits `until` then asks again: spread by a hash, so that they do not all come at once."""
    digest = blake2b(run_id.encode(), digest_size=4).digest()
    return ceil_second(until) + int.from_bytes(digest) % (SPREAD // SECOND) * SECOND


def held_since(run: Run, now: Instant) -> Instant:
    """Since when a run waits for a target: it carries that in its reason from one look to the next."""
    reason = run.reason
    held_at = reason.detail.get("held_at") if reason is not None and reason.code is Code.BREAKER else None
    return held_at if isinstance(held_at, int) else now


def leaves_alone(one: Guarded, held_at: Instant) -> Reason:
    """Why an attempt waits, and since when."""
    text = f"the target {one.name} fails again and again, and is left alone for a while"
    return Reason(Code.BREAKER, text, {"breaker": one.breaker_id, "held_at": held_at})


def given_up(one: Guarded, held_at: Instant) -> Reason:
    """Why a run is dead that has waited too long."""
    text = f"the target {one.name} did not recover within {LONGEST_WAIT // MINUTE} minutes"
    return Reason(Code.BREAKER, text, {"breaker": one.breaker_id, "held_at": held_at})
