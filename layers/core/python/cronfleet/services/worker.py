"""The worker: starts a run under a lease, asks whether it is still wanted, calls its target, writes what came of it.

Each step is one decision of `domain/attempt.py` and one conditional write, in a module of its own: `starting`,
`entering`, `finishing`. Whoever dies between two of them leaves a row that a later message finishes: the sweeper sends
one within a minute after the lease has ended.
"""

from dataclasses import replace

from cronfleet.domain.attempt import Result, deadline_at
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import Instant
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import Outcome, RunKey, RunMessage
from cronfleet.domain.run_spans import Delivery, shard_of
from cronfleet.domain.target import FollowedTarget
from cronfleet.domain.time_limit import is_long
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.queues import RunQueue
from cronfleet.ports.shift import OneMessage, Shift
from cronfleet.ports.target import Call, Targets
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.attempt_tracing import AttemptTracing
from cronfleet.services.displacing import Displacing
from cronfleet.services.endings import Endings
from cronfleet.services.entering import Entering
from cronfleet.services.finishing import Finishing, Ready
from cronfleet.services.gates import Gates
from cronfleet.services.handing_over import Elsewhere, HandingOver
from cronfleet.services.kept_slot import KeptSlot
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.pulse import RunPulse
from cronfleet.services.slots import Slots
from cronfleet.services.starting import NotSent, Starting
from cronfleet.services.target_breakers import TargetBreakers
from cronfleet.services.telling import Telling
from cronfleet.services.true_clock import true_now


class Worker:
    """Executes run messages. Holds nothing between them."""

    def __init__(  # noqa: PLR0913 - the last ones are those of some workers only
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        targets: Targets,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
        events: Events | None = None,
        elsewhere: Elsewhere | None = None,
        shift: Shift | None = None,
        report: AttemptReport | None = None,
    ) -> None:
        """`events` is where tenants that asked for it hear of their runs; `None`: nowhere.

        `elsewhere` is where executions are started; `None`: there are none. `shift` is that of a long worker, which may
        be called off. `report` says what is told of attempts; `None`: each has a line, and none a span.
        """
        self._shift = shift or OneMessage()
        self._store = store
        self._targets = targets
        self._clock = clock
        self._telemetry = telemetry
        self._report = report = report or AttemptReport(telemetry, AttemptTracing(clock))
        self._board = board = Noticeboard(store, clock, telemetry, consistent=True)
        self._telling = None if events is None else Telling(events, telemetry, board)
        endings = Endings(store, self._telling)
        displacing = Displacing(store=store, endings=endings, clock=clock, telemetry=telemetry)
        slots, gates = Slots(store, telemetry), Gates(store, telemetry, displacing.cancel)
        self._slots = slots
        self._starting = Starting(
            store=store,
            run_queue=run_queue,
            endings=endings,
            slots=slots,
            clock=clock,
            ids=ids,
            telemetry=telemetry,
            report=report,
        )
        self._finishing = Finishing(
            store=store,
            endings=endings,
            gates=gates,
            slots=slots,
            clock=clock,
            telemetry=telemetry,
            telling=self._telling,
            report=report,
        )
        self._handing_over: HandingOver | None = None
        if elsewhere is not None:
            self._handing_over = HandingOver(
                store=store,
                elsewhere=elsewhere,
                finishing=self._finishing,
                slots=slots,
                clock=clock,
                telemetry=telemetry,
            )
        self._breakers = TargetBreakers(store=store, board=board, clock=clock, ids=ids, telemetry=telemetry)
        self._entering = Entering(
            store=store,
            board=board,
            breakers=self._breakers,
            finishing=self._finishing,
            gates=gates,
            slots=slots,
            clock=clock,
            report=report,
        )

    def handle(self, message: RunMessage, delivery: Delivery | None = None) -> None:
        """Make one attempt of the run that `message` names, if it is due and still wanted; `delivery` is how it came.

        Returning deletes the message. Raises only when it must be delivered again: `ClockSkewed` when the clock was
        set after the start, `NotSent`, `NoAnswer` and `Contended` when the queue or the store stay silent.
        """
        with self._report.about(message, delivery):
            try:
                self._handle(message)
            except (NotSent, NoAnswer, Contended):
                self._telemetry.count("messages_unanswered", tier=message.tier)
                raise

    def _handle(self, message: RunMessage) -> None:
        hold = self._board.hold()
        if hold is not None and hold.is_standby:
            self._starting.lay_aside(message, hold)
            return
        start = self._starting.start_if_due(message)
        if start is None:
            return
        self._shift.began()
        ready = self._entering.prepare(start, message)
        if ready is not None:
            if self._telling is not None:
                self._telling.started(ready.run, ready.definition)
            if isinstance(ready.definition.spec.target, FollowedTarget):
                self._hand_over(ready)
            else:
                self._execute(ready)

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    def _execute(self, ready: Ready) -> None:
        run, is_renewed = ready.run, is_long(ready.definition.spec.attempt_seconds)
        pulse = RunPulse(
            store=self._store,
            clock=self._clock,
            telemetry=self._telemetry,
            run=run,
            # Of a schedule whose newer runs cancel older ones, also a silent attempt hears of that in time.
            listens=ready.timer.overlap is Overlap.CANCEL_OTHER or is_renewed,
            keep=KeptSlot(self._slots, ready).cover if is_renewed else None,
            shift=self._shift,
        )
        result = self._call(ready, pulse)
        is_written = self._finishing.finish(replace(ready, run=pulse.row), result)
        pulse.close(is_written=is_written)

    def _hand_over(self, ready: Ready) -> None:
        """Have the target started and followed; nothing is left to do here unless that was refused."""
        call = self._call_of(ready, self._now(ready.run.key))
        if isinstance(call, Result):
            self._finishing.finish(ready, call)
            return
        if self._handing_over is None:
            self._finishing.finish(ready, Result(Outcome.FAILED, "no executions are started here", retryable=False))
            return
        refused = self._handing_over.hand_over(ready, call, self._now(ready.run.key))
        if refused is None:
            self._report.handed_over(ready.run)
        else:
            after, result = refused
            self._report.called(result)
            self._breakers.hears(after.run, after.definition, result, self._clock.now())
            self._finishing.finish(after, result)

    def _call(self, ready: Ready, pulse: RunPulse) -> Result:
        call = self._call_of(ready, self._now(ready.run.key))
        if isinstance(call, Result):
            return call
        result = self._targets.call(call, pulse)
        self._report.called(result)
        self._breakers.hears(ready.run, ready.definition, result, self._clock.now())
        return result

    def _call_of(self, ready: Ready, now: Instant) -> Call | Result:
        """The call of the attempt, or why it comes too late."""
        run, spec = ready.run, ready.definition.spec
        deadline = deadline_at(run, spec.attempt_seconds, now)
        if deadline <= now:
            # This process stood still after the start; another may have the run by now.
            return Result(Outcome.TIMED_OUT, "its lease was nearly over before the target could be called")
        payload = run.payload if run.has_payload else spec.payload
        return Call(
            run.key,
            run.attempt,
            run.fence,
            run.due_at,
            deadline,
            spec.target,
            payload,
            spec.policies.heartbeat_seconds,
            self._report.calls(run, spec.target, payload),
            {"tier": run.tier, "shard": shard_of(run.batch)},
        )
