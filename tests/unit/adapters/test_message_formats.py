"""Old and new versions work side by side while a deployment shifts: each reads what the other sends.

`tests/cases` holds what every format sent (`first_items.json`, `items/<format>.json`). Of the format before today's
the rules by which it read are written down here: they are what today's messages are held to.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cronfleet.adapters.sqs import messages
from cronfleet.domain.errand import ErrandKind, ErrandMessage
from cronfleet.domain.instant import SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.tenant import TIERS
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.queues import Tick
from tests.support.builders import message
from tests.support.settable_clock import NOON

CASES = Path(__file__).parents[2] / "cases"
RECORDS = {"1": CASES / "first_items.json"} | {path.stem: path for path in (CASES / "items").glob("*.json")}
RECORDED = {name: json.loads(path.read_text(encoding="utf-8"))["messages"] for name, path in RECORDS.items()}
SENT = [(name, queue, body) for name, queues in RECORDED.items() for queue, bodies in queues.items() for body in bodies]

# --- how format 2 read -------------------------------------------------------------------------------------------

NEEDED: dict[str, dict[str, type]] = {
    "runs": {
        "run_id": str,
        "tier": str,
        "attempt": int,
        "due_at": int,
        "claimed_at": int,
        "batch": str,
        "version": int,
        "timeout_seconds": int,
    },
    "ticks": {"shard": int, "slot": int},
    "errands": {"tenant": str, "kind": str, "id": str, "rev": int},
}
"""What it refused a message without; a field that it did not know it passed over."""

KNOWN_TIERS = {"standard", "priority"}
KNOWN_KINDS = {"operation", "watch", "notice"}
KNOWN_CAUSES = {"outage", "pause", "zone_data", "rate", "freeze"}
SINCE = {
    "execution": "follows what only the new API lets a schedule start, and it is deployed last",
    "hold": "comes of a hold, for which only the new API can be asked",
}
"""Words that it could not read, and why none of them comes to it."""


def reads_as_before(queue: str, text: str) -> bool:
    """Whether format 2 took the message."""
    fields = json.loads(text)
    needed = NEEDED[queue.partition("-")[0]]
    if not all(type(fields.get(name)) is kind for name, kind in needed.items()):
        return False
    if queue.startswith("runs"):
        return fields["tier"] in KNOWN_TIERS and _reads_options(fields)
    return queue == "ticks" or fields["kind"] in KNOWN_KINDS


def _reads_options(fields: dict[str, Any]) -> bool:
    whole = all(type(fields[name]) is int for name in ("resent_at", "kept_days") if name in fields)
    slot = fields.get("slot", [1, 1, 1])
    late = fields.get("late")
    times = ("missed_from_at", "missed_until_at", "noticed_at")
    is_read = late is None or (late["cause"] in KNOWN_CAUSES and all(type(late[name]) is int for name in times))
    return whole and is_read and len(slot) == 3 and all(type(one) is int for one in slot)


# --- the new reads the old ---------------------------------------------------------------------------------------


def test_there_is_a_message_of_each_queue_in_some_record() -> None:
    assert {queue for _, queue, _ in SENT} >= {"runs-standard", "runs-backfill", "errands", "ticks"}


@pytest.mark.parametrize(("name", "queue", "text"), SENT)
def test_what_an_older_version_sent_is_read_and_means_the_same(name: str, queue: str, text: str) -> None:
    decode, encode = {
        "runs": (messages.decode_run, messages.encode_run),
        "ticks": (messages.decode_tick, messages.encode_tick),
        "errands": (messages.decode_errand, messages.encode_errand),
    }[queue.partition("-")[0]]
    again = json.loads(encode(decode(text)))  # type: ignore[operator] # each encodes what its own decodes
    assert json.loads(text).items() <= again.items(), name


# --- and the old the new -----------------------------------------------------------------------------------------

MESSAGE = message(NOON)
LADEN = replace(
    MESSAGE,
    resent_at=NOON + SECOND,
    kept_days=400,
    slot=SlotLease(3, 17, NOON + SECOND),
    late=Late(Cause.OUTAGE, NOON - SECOND, NOON, NOON),
    trace=TraceContext("ab" * 16, "cd" * 8, sampled=True),
)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("sent", [MESSAGE, LADEN], ids=["bare", "laden"])
def test_the_version_before_reads_a_run_message_of_today(sent: Any, tier: str) -> None:
    assert reads_as_before("runs-standard", messages.encode_run(replace(sent, tier=tier)))


@pytest.mark.parametrize("cause", Cause)
def test_it_reads_what_kept_a_fire_or_it_is_said_why_that_does_not_come_to_it(cause: Cause) -> None:
    late = replace(MESSAGE, late=Late(cause, NOON - SECOND, NOON, NOON))
    assert reads_as_before("runs-standard", messages.encode_run(late)) is (cause.value not in SINCE)


@pytest.mark.parametrize("tick", [Tick(3, NOON), Tick(3, NOON, 64)])
def test_it_reads_a_tick_of_today(tick: Tick) -> None:
    assert reads_as_before("ticks", messages.encode_tick(tick))


@pytest.mark.parametrize("kind", ErrandKind)
def test_it_reads_an_errand_of_today_or_it_is_said_why_none_comes_to_it(kind: ErrandKind) -> None:
    text = messages.encode_errand(ErrandMessage("acme", kind, "one", rev=3))
    assert reads_as_before("errands", text) is (kind.value not in SINCE)
