"""A cloud in which executions go on by themselves, and a crashing world whose clerk follows them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from cronfleet.domain.attempt import Result
from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.execution import execution_name
from cronfleet.domain.follow import Phase, Seen
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.run import Outcome, RunKey
from cronfleet.domain.target import StepFunctionsTarget
from cronfleet.ports.executions import Unseen
from cronfleet.ports.target import Call
from cronfleet.services.clerk import Clerk
from cronfleet.services.following import Following
from cronfleet.services.handing_over import Elsewhere
from cronfleet.services.worker import Worker
from tests.support.crashing import WORKER, CrashingWorld
from tests.support.faults import Faulty

CLERK: Final = "clerk"
ROLE: Final = "arn:aws:iam::123456789012:role/cronfleet-target-billing"
MACHINE: Final = StepFunctionsTarget("arn:aws:states:us-east-1:123456789012:stateMachine:billing", ROLE)
ANSWERS: Final = "cloud"


@dataclass
class Going:
    """One execution."""

    key: RunKey
    began_at: Instant
    ends_at: Instant
    result: Result
    stopped: str = ""
    said: tuple[str, ...] = ("done",)


@dataclass
class Cloud:
    """Implements `Executions`. `lasts` says how long one goes on; `comes_to` what it comes to.

    `foresees`: its handles can be told beforehand, as those of Step Functions; those of ECS cannot. `heeds_stop` false:
    what is told to stop goes on. `silent` raises for a call of that name; `refuses` is the answer to a start.
    """

    now: Callable[[], Instant]
    lasts: Callable[[Call], int] = lambda _: 20
    comes_to: Callable[[Call], Result] = lambda _: Result(Outcome.SUCCEEDED)
    foresees: bool = True
    heeds_stop: bool = True
    silent: set[str] = field(default_factory=set)
    refuses: Callable[[Call], Result | None] = lambda _: None
    executions: dict[str, Going] = field(default_factory=dict)
    looks: list[Instant] = field(default_factory=list)

    def handle(self, call: Call) -> str:
        return self._handle(call) if self.foresees else ""

    def _handle(self, call: Call) -> str:
        return f"arn:{execution_name(call.key.run_id, call.attempt)}"

    def start(self, call: Call) -> str | Result:
        self._answer("start")
        refused = self.refuses(call)
        if refused is not None:
            return refused
        name = self._handle(call)
        if name not in self.executions:
            live = [one for one in self.executions.values() if one.key == call.key and self._is_going(one)]
            assert not live, "two executions of one run go on at once"
            now = self.now()
            self.executions[name] = Going(call.key, now, now + self.lasts(call) * SECOND, self.comes_to(call))
        return name

    def look(self, call: Call, handle: str) -> Seen:
        self._answer("look")
        self.looks.append(self.now())
        one = self.executions.get(handle or self._handle(call))
        if one is None:
            return Seen(Phase.UNKNOWN)
        found = "" if handle else self._handle(call)
        if self._is_going(one):
            return Seen(Phase.GOING, handle=found)
        return Seen(Phase.OVER, one.result, one.ends_at, one.said, found)

    def stop(self, call: Call, handle: str, why: str) -> None:
        self._answer("stop")
        one = self.executions.get(handle)
        if one is not None and self._is_going(one) and self.heeds_stop:
            one.stopped, one.ends_at = why, self.now()
            one.result = Result(Outcome.FAILED, f"aborted: {why}")

    def _answer(self, name: str) -> None:
        if name in self.silent:
            raise Unseen(f"the cloud does not answer to {name}")

    def _is_going(self, one: Going) -> bool:
        return self.now() < one.ends_at

    @property
    def going(self) -> list[Going]:
        return [one for one in self.executions.values() if self._is_going(one)]


class FollowedWorld(CrashingWorld):
    """A crashing world with a clerk, which may die as well, and a cloud."""

    def __init__(self, now: Instant, **cloud: Any) -> None:
        super().__init__(now)
        self.cloud = Cloud(self.clock.now, **cloud)
        common: dict[str, Any] = {"clock": self.clock, "telemetry": self.notes, "ids": self.ids}
        elsewhere: Any = Faulty(self.cloud, self._hook(WORKER))
        self.worker = Worker(
            **self._ports(WORKER), targets=self.targets, elsewhere=Elsewhere(elsewhere, shards=1), **common
        )
        executions: Any = Faulty(self.cloud, self._hook(CLERK))
        store = self._ports(CLERK)["store"]
        following = Following(store=store, executions=executions, **common)
        doers = {ErrandKind.EXECUTION: following}
        self.clerk = Clerk(store=store, clock=self.clock, telemetry=self.notes, errands=doers)

    def step(self, following: Instant) -> None:
        super().step(following)
        self.follow()

    def follow(self) -> None:
        """Let the clerk take every errand that was sent."""
        queue = self.errand_queue.queue
        for received in queue.receive(100):
            if self.invoke(CLERK, lambda: self.clerk.handle(received.body, self.clock.now() + 45 * SECOND)):  # noqa: B023 - called at once
                queue.delete(received.receipt)

    def check_followed(self) -> None:
        """Nothing goes on that nobody follows, and what has ended well has ended well once."""
        assert not self.store.state.errands, "an errand is left of a run that is over"
        assert not self.cloud.going, "an execution goes on after its run is over"
        well = [one.key for one in self.cloud.executions.values() if one.result.outcome is Outcome.SUCCEEDED]
        assert len(well) == len(set(well)), "a run was executed twice"
