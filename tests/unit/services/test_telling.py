"""Telling: what tenants that asked for it hear of their runs, and what it costs the others."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.events import MemoryEvents
from cronfleet.domain.audit import SCHEDULER_ACTOR, AuditEntry, schedule_subject, subject
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lifecycle_event import LifecycleEvent, run_event
from cronfleet.domain.noticeboard import Notice, Topic, posted, sheet_of
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Run, RunStatus, range_row
from cronfleet.domain.settlement import How, Settlement
from cronfleet.ports.job_store import InsertAudit, Write
from cronfleet.ports.noticeboard import PutSheet
from cronfleet.services.cancelling import ask_to_cancel
from cronfleet.services.endings import Endings
from cronfleet.services.telling import MAX_SENDS, Telling, told_by
from cronfleet.services.worker import Worker
from tests.support.builders import message
from tests.support.faults import Hook
from tests.support.workshop import BACKOFF, TWO, Script, Workshop, fails_first, succeeds


class Told(Workshop):
    """A workshop whose workers tell."""

    def __init__(self, script: Script = succeeds, *, opted_in: bool = True, **more: Any) -> None:
        super().__init__(script, **more)
        self.events = MemoryEvents()
        if opted_in:
            sheet = self.store.get_sheet(Topic.EVENTS, sheet_of("acme"))
            self.store.commit([PutSheet(posted(sheet, "acme", Notice(), now=0, change_id="c"))])

    def worker(self, hook: Hook | None = None, actor: Any = None) -> Worker:
        made = super().worker(hook, actor)
        return Worker(
            store=made._store,
            run_queue=self.run_queue,
            targets=made._targets,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
            events=self.events,
        )

    @property
    def telling(self) -> Telling:
        made = told_by(self.store, self.clock, self.notes, self.events)
        assert made is not None
        return made

    @property
    def kinds(self) -> list[str]:
        return [event.kind.value.removeprefix("cronfleet.") for event in self.events.sent]


def test_a_run_that_succeeds_is_told_at_its_start_and_at_its_end() -> None:
    world = Told()
    world.clock.advance(1_500)
    world.deliver()

    assert world.kinds == ["run.started", "run.succeeded"]
    assert world.events.sent[-1].detail == {
        "version": 1,
        "event_id": f"{world.message.key.run_id}#1#succeeded",
        "at": "2026-12-01T02:00:01.500Z",
        "tenant": "acme",
        "schedule": "nightly",
        "run_id": world.message.key.run_id,
        "nominal_at": "2026-12-01T02:00:00Z",
        "until_nominal_at": None,
        "due_at": "2026-12-01T02:00:00Z",
        "attempt": 1,
        "status": "succeeded",
        "outcome": "succeeded",
        "reason": None,
        "retry_at": None,
        "lag_ms": 1_500,
        "labels": {},
    }


def test_each_failed_attempt_is_told_and_the_last_one_as_dead() -> None:
    world = Told(fails_first(9), retry=Retry(max_attempts=2, backoff=BACKOFF))
    world.deliver()
    world.settle()

    assert world.kinds == ["run.started", "run.failed", "run.started", "run.dead"]
    failed, dead = world.events.sent[1], world.events.sent[3]
    assert (failed.detail["status"], failed.detail["outcome"], failed.detail["attempt"]) == ("waiting", "failed", 1)
    assert failed.detail["retry_at"] == "2026-12-01T02:00:10Z"
    assert (dead.detail["reason"], dead.detail["attempt"]) == ("attempts", 2)


def test_neither_payloads_nor_errors_are_told() -> None:
    world = Told(fails_first(9), retry=Retry(max_attempts=1, backoff=BACKOFF))
    world.deliver()

    told = json.dumps([event.detail for event in world.events.sent])
    assert "was to fail" not in told
    assert "for" not in json.loads(told)[0]
    assert "payload" not in told


def test_a_message_that_comes_again_tells_nothing_more() -> None:
    world = Told()
    world.deliver()
    world.deliver()

    assert world.kinds == ["run.started", "run.succeeded"]


def test_a_fire_whose_schedule_was_cancelled_is_told_as_cancelled_and_never_as_started() -> None:
    world = Told()
    world.cancel()
    world.deliver()

    assert world.kinds == ["run.cancelled"]


def test_whose_tenant_has_not_asked_for_it_costs_no_request_to_the_bus_and_no_read_more() -> None:
    def calls(world: Workshop) -> list[str]:
        seen: list[str] = []
        world.deliver(hook=lambda name, _phase: seen.append(name))
        return seen

    world = Told(opted_in=False)

    assert calls(world) == calls(Workshop())
    assert (world.events.calls, world.events.sent) == (0, [])


def test_what_the_bus_does_not_take_at_once_is_sent_again() -> None:
    world = Told()
    world.events.refused = 2
    world.deliver()

    assert world.kinds == ["run.started", "run.succeeded"]
    assert world.events.calls == 4


def test_a_bus_that_is_gone_stops_no_run_and_what_was_lost_is_counted() -> None:
    world = Told()
    world.events.refused = 100
    world.deliver()

    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.events.calls == 2 * MAX_SENDS
    assert world.notes.counts["events_lost"] == 2


def test_a_run_that_waits_and_is_cancelled_is_told_wherever_that_is_written() -> None:
    world = Told(fails_first(9))
    world.deliver()
    endings = Endings(world.store, world.telling)
    ask_to_cancel(world.store, endings, world.message.key, CancelRequest(world.clock.now(), "ada", ""))

    assert world.kinds == ["run.started", "run.failed", "run.cancelled"]


def entry(action: str, about: str = schedule_subject("nightly")) -> Write:
    after = {"status": "paused", "payload": {"card": "4111"}}
    return InsertAudit(AuditEntry("acme", "e1", TWO, SCHEDULER_ACTOR, action, about, "r", after=after, reason="tired"))


def test_a_change_of_a_schedule_is_told_with_who_made_it_and_without_what_it_says() -> None:
    world = Told()
    world.telling.committed([entry("pause")])

    (event,) = world.events.sent
    assert event.kind == "cronfleet.schedule.changed"
    assert event.detail == {
        "version": 1,
        "event_id": "nightly#e1",
        "at": "2026-12-01T02:00:00Z",
        "tenant": "acme",
        "schedule": "nightly",
        "change": "pause",
        "status": "paused",
        "by": SCHEDULER_ACTOR,
        "reason": "tired",
    }


@pytest.mark.parametrize("write", [entry("run"), entry("cancel_run"), entry("create", subject("key", "k1"))])
def test_entries_that_change_no_schedule_are_not_told(write: Write) -> None:
    world = Told()
    world.telling.committed([write])

    assert world.events.sent == []


def row(status: RunStatus) -> Run:
    reason = Reason(Code.PAUSED, "paused by ada")
    return range_row(message(TWO).key, TWO + 5 * MINUTE, "standard", status, TWO + MINUTE, reason)


def test_a_stretch_in_which_nothing_fired_is_one_event() -> None:
    told = run_event(row(RunStatus.PAUSED))

    assert isinstance(told, LifecycleEvent)
    assert told.kind == "cronfleet.run.skipped"
    assert (told.detail["status"], told.detail["reason"]) == ("paused", "paused")
    assert told.detail["until_nominal_at"] == "2026-12-01T02:05:00Z"


def test_what_a_held_schedule_only_notes_and_a_letter_that_is_settled_are_not_told() -> None:
    assert run_event(row(RunStatus.SHADOW)) is None
    dead = Run(message(TWO).key, RunStatus.DEAD, TWO, "standard", finished_at=TWO + SECOND)
    assert run_event(dead) is not None
    assert run_event(replace(dead, settled=Settlement(How.DISCARDED, "ada", TWO + MINUTE))) is None
