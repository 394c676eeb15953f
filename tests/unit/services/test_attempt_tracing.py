"""A run's trace: every attempt in one, whole where something went wrong, and with the ids that every line has."""

from dataclasses import replace

import pytest

from cronfleet.adapters.memory.tracing import MemoryTracing
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_line import Lines
from cronfleet.domain.execution import Execution
from cronfleet.domain.instant import HOUR, SECOND
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Attempt, Outcome, Run, RunStatus
from cronfleet.domain.run_spans import Delivery
from cronfleet.domain.span import Keeping, Span, SpanKind
from cronfleet.domain.target import WebhookTarget
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.target import Call
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.attempt_tracing import AttemptTracing
from cronfleet.services.worker import Worker
from tests.support.actors import Actor
from tests.support.faults import Hook
from tests.support.workshop import BACKOFF, TWO, Workshop, fails_first

SECRET = "p4yl0ad-or-secret"


class Traced(Workshop):
    """Workers whose spans are kept."""

    keeping = Keeping(ratio=1)
    lines = Lines()

    def worker(self, hook: Hook | None = None, actor: Actor | None = None) -> Worker:
        self.tracing = getattr(self, "tracing", MemoryTracing())
        tracing = AttemptTracing(self.clock, self.tracing, self.keeping)
        return Worker(
            store=self.store,
            run_queue=self.run_queue,
            targets=self.targets,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
            report=AttemptReport(self.notes, tracing, self.lines),
        )

    @property
    def spans(self) -> dict[str, Span]:
        return {span.name: span for span in self.tracing.spans}


def traced(keeping: Keeping, script: object = None, lines: Lines | None = None) -> Traced:
    world = Traced(script) if callable(script) else Traced()
    world.keeping, world.lines = keeping, lines or Lines()
    return world


ALL, NONE = Keeping(ratio=1), Keeping(ratio=0, late_seconds=60)


def test_a_run_is_a_tree_from_its_claim_to_its_target_with_true_times() -> None:
    world = traced(ALL)
    world.clock.set(TWO + 1_500)
    world.worker().handle(world.message, Delivery(TWO + 1_500, TWO - 4_900, "m-1"))
    run, claim = world.spans["run"], world.spans["claim"]
    queue, process, job = (
        world.spans[name] for name in ("queue runs-standard", "process runs-standard", "job billing.nightly")
    )
    assert {span.context.trace_id for span in world.tracing.spans} == {world.message.key.trace().trace_id}
    assert run.parent_id == ""
    assert {claim.parent_id, queue.parent_id, process.parent_id} == {run.context.span_id}
    assert job.parent_id == process.context.span_id
    assert (claim.began_at, claim.ended_at) == (world.message.claimed_at, TWO - 4_900)
    assert (queue.began_at, queue.ended_at) == (TWO - 4_900, TWO + 1_500)
    assert (run.began_at, run.ended_at) == (world.message.claimed_at, world.stored.finished_at)
    assert [one.part for one in (run, claim, queue, process)] == ["dispatcher", "dispatcher", "dispatcher", "worker"]
    assert (claim.kind, process.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert process.attributes["messaging.system"] == "aws_sqs"
    assert process.attributes["messaging.message.id"] == "m-1"
    said = {name.removeprefix("cronfleet."): value for name, value in process.attributes.items()}
    assert (said["tenant"], said["schedule_id"], said["shard"], said["tier"]) == ("acme", "nightly", 0, "standard")
    assert (said["attempt"], said["outcome"], said["lag_seconds"]) == (1, "succeeded", 1.5)


def test_retries_are_further_attempts_in_the_same_trace() -> None:
    world = traced(ALL, fails_first(2))
    world.deliver()
    for _ in range(2):
        world.clock.advance(20 * SECOND)
        assert world.wake_timers() == 1
    assert world.stored.status is RunStatus.SUCCEEDED
    processed = [span for span in world.tracing.spans if span.name == "process runs-standard"]
    assert [span.attributes["cronfleet.outcome"] for span in processed] == ["failed", "failed", "succeeded"]
    assert len({span.context.span_id for span in processed}) == 3
    assert len({span.context.trace_id for span in world.tracing.spans}) == 1
    assert [span.name for span in world.tracing.spans].count("run") == 1
    assert {"wait for attempt 2", "wait for attempt 3"} <= set(world.spans)
    assert processed[0].error


def test_nothing_is_kept_of_an_ordinary_run_that_is_not_sampled() -> None:
    world = traced(NONE)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.tracing.spans == []


def test_a_failure_a_dead_run_and_a_late_one_are_kept_whole_though_nobody_had_chosen_them() -> None:
    dead = traced(NONE, fails_first(9))
    dead.deliver()
    assert {"claim", "queue runs-standard", "process runs-standard"} <= set(dead.spans)
    assert "run" not in dead.spans, "it goes on"
    late = traced(NONE)
    late.clock.advance(61 * SECOND)
    late.deliver()
    assert late.stored.status is RunStatus.SUCCEEDED
    assert {"run", "claim", "process runs-standard"} <= set(late.spans)
    on_time = traced(NONE)
    on_time.clock.advance(59 * SECOND)
    on_time.deliver()
    assert on_time.tracing.spans == []


def test_the_end_of_a_run_that_had_failed_before_is_kept_too() -> None:
    world = traced(NONE, fails_first(1))
    world.deliver()
    world.clock.advance(20 * SECOND)
    world.wake_timers()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.spans["run"].attributes["cronfleet.attempts"] == 2


def noted_calls(world: Workshop) -> list[Call]:
    """Every call that the target gets, all of which succeed."""
    calls: list[Call] = []

    def script(call: Call) -> Result:
        calls.append(call)
        return Result(Outcome.SUCCEEDED)

    world.targets.script = script
    return calls


def test_a_target_is_called_with_the_span_that_it_stands_below() -> None:
    world = traced(ALL)
    calls = noted_calls(world)
    world.deliver()
    assert calls[0].trace == replace(world.spans["job billing.nightly"].context, sampled=True)
    assert calls[0].traceparent.endswith("-01")


def test_without_tracing_the_target_is_told_the_same_trace_and_nothing_is_kept() -> None:
    world = Workshop()
    calls = noted_calls(world)
    world.deliver()
    assert calls[0].trace is not None
    assert calls[0].trace.trace_id == world.message.key.trace().trace_id
    assert calls[0].traceparent.endswith("-00")


def test_a_run_that_a_request_asked_for_stands_below_that_request() -> None:
    world = traced(NONE)
    asked = TraceContext("ab" * 16, "cd" * 8, sampled=True)
    key = replace(world.message.key, cause="manual-01kb")
    row = Run(key, RunStatus.QUEUED, due_at=TWO, tier="standard", version=1, origin=asked)
    world.store.insert_run(row)
    world.deliver(replace(world.message, key=key, trace=asked))
    assert world.spans["run"].parent_id == asked.span_id
    assert {span.context.trace_id for span in world.tracing.spans} == {asked.trace_id}


@pytest.mark.parametrize("cause", ["schedule", "backfill-o1"])
def test_a_fire_after_a_parent_and_a_run_of_an_operation_are_linked_to_what_they_came_of(cause: str) -> None:
    world = traced(ALL)
    origin = TraceContext("ab" * 16, "cd" * 8, sampled=True)
    key = replace(world.message.key, cause=cause)
    world.store.insert_run(Run(key, RunStatus.QUEUED, due_at=TWO, tier="standard", version=1, origin=origin))
    world.deliver(replace(world.message, key=key))
    assert world.spans["run"].links == (origin,)
    assert world.spans["run"].context.trace_id != origin.trace_id


# --- lines -------------------------------------------------------------------------------------------------------


def lines_of(world: Workshop) -> list[dict[str, object]]:
    return [fields for name, fields in world.notes.events if name == "attempt_finished"]


def test_each_line_of_an_attempt_says_whose_and_which_it_is_and_in_which_span() -> None:
    world = traced(ALL)
    world.deliver()
    (about,) = world.notes.abouts
    assert {name: about[name] for name in ("run_id", "tenant", "schedule_id", "tier", "shard", "attempt")} == {
        "run_id": world.message.key.run_id,
        "tenant": "acme",
        "schedule_id": "nightly",
        "tier": "standard",
        "shard": 0,
        "attempt": 1,
    }
    process = world.spans["process runs-standard"].context
    assert (about["trace_id"], about["span_id"]) == (process.trace_id, process.span_id)
    (line,) = lines_of(world)
    assert line["trace_id"] == process.trace_id


def test_of_successes_a_share_has_a_line_and_whatever_else_happens_always_has_one() -> None:
    few = Lines(success_ratio=0)
    succeeded = traced(NONE, lines=few)
    succeeded.deliver()
    assert lines_of(succeeded) == []
    assert succeeded.notes.counts["attempts"] == 1, "it is counted all the same"
    failed = traced(NONE, fails_first(1), lines=few)
    failed.deliver()
    failed.clock.advance(20 * SECOND)
    failed.wake_timers()
    assert [line["outcome"] for line in lines_of(failed)] == ["failed", "succeeded"]
    late = traced(NONE, lines=few)
    late.clock.advance(61 * SECOND)
    late.deliver()
    assert len(lines_of(late)) == 1


def test_a_line_says_for_how_many_attempts_it_stands_so_that_whoever_adds_lines_up_counts_right() -> None:
    quarter = Lines(success_ratio=0.25)
    succeeded = traced(NONE, lines=quarter)
    succeeded.deliver()
    assert quarter.weight(succeeded.stored) == 4
    failed = traced(NONE, fails_first(1), lines=quarter)
    failed.deliver()
    assert [line["weight"] for line in lines_of(failed)] == [1], "every failure has a line"
    assert Lines().weight(succeeded.stored) == 1


def test_what_a_job_said_and_its_payload_stand_in_no_line_and_no_span_unless_that_was_asked_for() -> None:
    def fails(_call: Call) -> Result:
        return Result(Outcome.FAILED, f"ValueError: {SECRET}", retryable=False)

    world = traced(ALL, fails)
    world.deliver()
    assert world.stored.attempts[-1].error == f"ValueError: {SECRET}"
    told = repr((world.notes.events, world.notes.abouts, world.notes.alarms, world.tracing.spans))
    assert SECRET not in told
    assert lines_of(world)[0]["error"] == "ValueError"
    asked = traced(ALL, fails, Lines(with_details=True))
    asked.deliver()
    assert lines_of(asked)[0]["error"] == f"ValueError: {SECRET}"
    assert lines_of(asked)[0]["payload"] == '{"for": "all"}'
    assert SECRET not in repr(asked.tracing.spans)


def test_of_a_webhooks_address_a_span_has_the_host_alone() -> None:
    world = traced(ALL)
    hook = WebhookTarget(f"https://hooks.example.com/{SECRET}?key={SECRET}")
    for key, one in world.store.state.definitions.items():
        world.store.state.definitions[key] = replace(one, spec=replace(one.spec, target=hook))
    world.deliver()
    assert world.spans["POST"].attributes["server.address"] == "hooks.example.com"
    assert SECRET not in repr(world.tracing.spans)


def test_a_retry_policy_of_one_ends_in_a_run_that_says_it_failed() -> None:
    world = Traced(fails_first(9), retry=Retry(max_attempts=1, backoff=BACKOFF))
    world.deliver()
    assert world.spans["run"].error == "dead: attempts"


# --- what goes on elsewhere --------------------------------------------------------------------------------------


def handed_over_and_ended(keeping: Keeping, outcome: Outcome) -> tuple[list[Span], list[Span]]:
    """The spans of an execution's beginning, and those that whoever follows it keeps at its end."""
    world, kept = Workshop(), MemoryTracing()
    tracing = AttemptTracing(world.clock, kept, keeping)
    attempt = Attempt(1, 1, "w", TWO, execution=Execution(TWO, TWO + HOUR))
    goes_on = Run(
        world.message.key,
        RunStatus.RUNNING,
        due_at=TWO,
        tier="standard",
        batch="0.1.1",
        claimed_at=TWO - SECOND,
        attempts=(attempt,),
        started_at=TWO,
        lag_ms=0,
    )
    with tracing.handling(world.message, Delivery(TWO)):
        tracing.handed_over(goes_on)
    begun, kept.spans = kept.spans, []
    status = RunStatus.SUCCEEDED if outcome is Outcome.SUCCEEDED else RunStatus.DEAD
    ended = replace(attempt, finished_at=TWO + HOUR, outcome=outcome, error="States.TaskFailed: no bill")
    tracing.ended(replace(goes_on, status=status, attempts=(ended,), finished_at=TWO + HOUR))
    return begun, kept.spans


def test_what_goes_on_elsewhere_is_one_trace_from_its_claim_to_its_end() -> None:
    begun, at_the_end = handed_over_and_ended(ALL, Outcome.SUCCEEDED)
    assert [span.name for span in begun] == ["claim", "queue runs-standard", "process runs-standard"]
    assert begun[-1].attributes["cronfleet.outcome"] == "handed_over"
    run, execution = at_the_end
    assert (run.name, execution.name, execution.part) == ("run", "execution of attempt 1", "clerk")
    assert (execution.began_at, execution.ended_at) == (TWO, TWO + HOUR)
    assert {span.context.trace_id for span in (*begun, *at_the_end)} == {run.context.trace_id}
    assert execution.parent_id == run.context.span_id == begun[-1].parent_id


def test_an_execution_that_fails_is_kept_though_nobody_had_chosen_it() -> None:
    begun, at_the_end = handed_over_and_ended(NONE, Outcome.FAILED)
    assert begun == []
    assert [span.error for span in at_the_end] == ["dead", "failed: States.TaskFailed"]
    assert handed_over_and_ended(NONE, Outcome.SUCCEEDED)[1] == []
