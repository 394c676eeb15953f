"""The storm: kills, freezes and misleads whatever of a running stack it finds, but for the emulator itself."""

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from local.aws import Aws
from local.testing import StackProcess
from tests.e2e import victims
from tests.e2e.callers import Client
from tests.e2e.clocks import BORNE, FUNCTIONS, IN_HAND_MS, REFUSED, TIMELESS, Clocks

LEASE_FREEZES = (6, 20, 90)
"""Seconds: longer than a slot, than a dispatcher's lease, than an ordinary attempt's lease."""

WRONG_SECONDS = (9, 15)
"""How long a clock stays wrong, from and to: a tick comes every five seconds, and what was in hand may take as long."""

CALLED_SELDOM = ("api", "ticker", "sweeper")
"""What nobody may happen to call while its clock is wrong; the API is asked for little else than reads at times."""

CALL_SECONDS = 60
HEARD_SECONDS = 60
"""How long one whose clock is wrong, and that nobody kills or freezes, may take to be heard of."""

BUSY_SECONDS = 6
"""Jobs of some seconds begin every few; fewer while workers have a wrong clock."""


@dataclass
class Storm:
    """Strikes by chance, every kind in turn; clocks only where there are `clocks`.

    A `gentle` one spares what is made good only after five minutes: a worker that has a message and no row yet. And
    it freezes nothing for longer than a shard's lease.
    """

    stack: StackProcess
    seed: int
    clocks: Clocks | None = None
    gentle: bool = False
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._frozen: dict[int, float] = {}
        self._wrong: dict[str, float] = {}
        self._calls: dict[str, threading.Thread] = {}
        self._offsets: dict[tuple[str, Sequence[int]], list[int]] = {}

    def rage(self, seconds: float) -> None:
        """Strike every now and then, in each way at least once; at the end all goes on, and by the right time."""
        deadline = time.monotonic() + seconds
        pack = self._pack()
        while time.monotonic() < deadline:
            self._chance.shuffle(pack)
            for strike in pack:
                self._once(strike)
        self._thaw(float("inf"))
        # Not at once: one that was wrong for a moment proves nothing.
        time.sleep(max(0.0, max(self._wrong.values(), default=0.0) - time.monotonic()))
        self._mend(float("inf"))

    def insist(self) -> None:
        """What chance left out: a clock that nobody was heard of yet is wrong once more, until its function alarms.

        A function may have been killed, frozen or idle whenever its clock was wrong in the storm.
        """
        assert self.clocks is not None
        for name in [name for name in FUNCTIONS if name not in TIMELESS and name not in self._heard()]:
            self.mislead(name, REFUSED)
            patience = time.monotonic() + HEARD_SECONDS
            while name not in self._heard() and time.monotonic() < patience:
                time.sleep(1)
                self.clocks.listen()
            self._mend(float("inf"))

    def _heard(self) -> set[str]:
        assert self.clocks is not None
        return {name for name, _ in self.clocks.alarmed}

    def _once(self, strike: Callable[[], str]) -> None:
        what = strike()
        if what:
            self.done[what] += 1
        self._thaw(time.monotonic())
        self._mend(time.monotonic())
        time.sleep(self._chance.uniform(0.1, 1 if self.gentle else 2))

    def _pack(self) -> list[Callable[[], str]]:
        """Every way to strike, some of them more than once."""
        pack: list[Callable[[], str]] = (
            [self.kill_busy_worker] * 3 + [self.kill_job] * 2 + [self.kill_front, self.kill_supervisor]
        )
        pack += [lambda name=name: self.kill_function(name) for name in victims.CONTROL * 2]
        pack += [lambda name=name: self.freeze(name) for name in ("dispatcher", "worker-standard")]
        if self.clocks:
            much_and_little = [(name, offsets) for name in FUNCTIONS for offsets in (REFUSED, BORNE)]
            pack += [
                lambda name=name, offsets=offsets: self.mislead(name, offsets) for name, offsets in much_and_little
            ]
        if not self.gentle:
            pack += [lambda: self.kill_function("worker-standard")] * 3 + [self.restart]
            pack += [lambda name=name: self.freeze(name) for name in (*victims.CONTROL, "worker-standard")]
        return pack

    def kill_function(self, name: str) -> str:
        """One process of a function, whatever it is doing."""
        return self._kill(f"kill {name}", victims.functions(self.stack, name))

    def kill_busy_worker(self) -> str:
        """A worker in the middle of a job, as soon as there is one."""
        patience = time.monotonic() + BUSY_SECONDS
        while not (busy := victims.busy_workers(self.stack)) and time.monotonic() < patience:
            time.sleep(0.05)
        return self._kill("kill busy worker", busy)

    def kill_job(self) -> str:
        """The process of a job; its worker lives."""
        return self._kill("kill job", victims.jobs(self.stack))

    def kill_front(self) -> str:
        """What passes requests on."""
        return self._kill("kill front", [self.stack.facts["processes"]["front"]])

    def kill_supervisor(self) -> str:
        """`python -m local`; after a while it is started again, and goes on with the living emulator."""
        victims.send(self.stack.process.pid, signal.SIGKILL)
        self.stack.wait()
        time.sleep(self._chance.uniform(0, 5))
        self.stack.start().wait_until_ready()
        assert any("going on with it" in line for line in self.stack.lines), "the emulator was not adopted"
        return "kill supervisor"

    def restart(self) -> str:
        """Ctrl-C in the middle of everything, and a new start."""
        self._thaw(float("inf"))
        self._mend(float("inf"))
        if self.clocks:
            self.clocks.listen()
        assert self.stack.stop() == 0, self.stack.lines[-3:]
        time.sleep(self._chance.uniform(0, 8))
        self.stack.start().wait_until_ready()
        return "restart"

    def freeze(self, name: str) -> str:
        """A process of a function, with or without its job. One that stands still while its clock is wrong proves
        nothing: what it does as it goes on may have been decided before.
        """
        found = victims.functions(self.stack, name)
        if not found or name in self._wrong:
            return ""
        pid = self._chance.choice(found)
        until = time.monotonic() + self._chance.choice(LEASE_FREEZES[:2] if self.gentle else LEASE_FREEZES)
        for one in [pid, *(victims.children(pid) if self._chance.random() < 0.5 else [])]:
            if victims.send(one, signal.SIGSTOP):
                self._frozen[one] = until
        return f"freeze {name}"

    def mislead(self, name: str, offsets: Sequence[int]) -> str:
        """The clock of a function, in all its processes: by each of `offsets` in turn, in an order by chance.

        One that is wrong already stays so, but a little may become much.
        """
        assert self.clocks is not None
        current = self.clocks.of(name)
        if current is not None and (current.is_refused or offsets is BORNE):
            return ""
        self._thaw(float("inf"))
        seconds = self._next_offset(name, offsets)
        self._wrong[name] = time.monotonic() + self._chance.uniform(*WRONG_SECONDS)
        self.clocks.shift(name, seconds)
        if name in CALLED_SELDOM:
            self._calls[name] = threading.Thread(target=self._call, args=(name,), daemon=True)
            self._calls[name].start()
        return f"clock {name} {seconds:+d} s"

    def _next_offset(self, name: str, offsets: Sequence[int]) -> int:
        left = self._offsets.setdefault((name, offsets), [])
        if not left:
            left += self._chance.sample(offsets, len(offsets))
        return left.pop()

    def _call(self, name: str) -> None:
        """Call a function once all that it had in hand is done; its clock stays wrong until it has answered."""
        time.sleep(IN_HAND_MS / 1_000)
        # It may be killed, or be away: then this was no call.
        with contextlib.suppress(Exception):
            if name == "api":
                patch = {"labels": {"asked": "while the clock was wrong"}}
                Client(self.stack).once("PATCH", "/v1/schedules/edited-0", patch, key="")
            else:
                client = Aws(self.stack.facts["emulator"]).client("lambda")
                client.invoke(FunctionName=f"cronfleet-{name}")

    def _mend(self, moment: float) -> None:
        over = [name for name, until in self._wrong.items() if until <= moment]
        for name in over if self.clocks else ():
            call = self._calls.get(name)
            if call is not None:
                call.join(CALL_SECONDS if moment == float("inf") else 0)
                if call.is_alive() and moment < float("inf"):
                    continue
            del self._wrong[name]
            self.clocks.shift(name, 0)
            self.clocks.listen()

    def _thaw(self, moment: float) -> None:
        for pid in [pid for pid, until in self._frozen.items() if until <= moment]:
            del self._frozen[pid]
            victims.send(pid, signal.SIGCONT)

    def _kill(self, what: str, pids: list[int]) -> str:
        return what if pids and victims.send(self._chance.choice(pids), signal.SIGKILL) else ""
