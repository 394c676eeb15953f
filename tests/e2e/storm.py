"""The storm: kills and freezes whatever of a running stack it finds, but for the emulator itself."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from local.testing import StackProcess
from tests.e2e import victims

LEASE_FREEZES = (6, 20, 90)
"""Seconds: longer than a slot, than a dispatcher's lease, than an ordinary attempt's lease."""


@dataclass
class Storm:
    """Strikes by chance, every kind in turn.

    A `gentle` one spares what is made good only after five minutes: a worker that has a message and no row yet. And
    it freezes nothing for longer than a shard's lease.
    """

    stack: StackProcess
    seed: int
    gentle: bool = False
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._frozen: dict[int, float] = {}

    def rage(self, seconds: float) -> None:
        """Strike every now and then, in each way at least once; at the end all that is frozen goes on."""
        deadline = time.monotonic() + seconds
        pack = self._pack()
        while time.monotonic() < deadline:
            self._chance.shuffle(pack)
            for strike in pack:
                self._once(strike)
        self._thaw(float("inf"))

    def _once(self, strike: Callable[[], str]) -> None:
        what = strike()
        if what:
            self.done[what] += 1
        self._thaw(time.monotonic())
        time.sleep(self._chance.uniform(0.1, 2))

    def _pack(self) -> list[Callable[[], str]]:
        """Every way to strike, some of them more than once."""
        pack: list[Callable[[], str]] = (
            [self.kill_busy_worker] * 3 + [self.kill_job] * 2 + [self.kill_front, self.kill_supervisor]
        )
        pack += [lambda name=name: self.kill_function(name) for name in victims.CONTROL * 2]
        pack += [lambda name=name: self.freeze(name) for name in ("dispatcher", "worker-standard")]
        if not self.gentle:
            pack += [lambda: self.kill_function("worker-standard")] * 3 + [self.restart]
            pack += [lambda name=name: self.freeze(name) for name in (*victims.CONTROL, "worker-standard")]
        return pack

    def kill_function(self, name: str) -> str:
        """One process of a function, whatever it is doing."""
        return self._kill(f"kill {name}", victims.functions(self.stack, name))

    def kill_busy_worker(self) -> str:
        """A worker in the middle of a job."""
        return self._kill("kill busy worker", victims.busy_workers(self.stack))

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
        assert self.stack.stop() == 0, self.stack.lines[-3:]
        time.sleep(self._chance.uniform(0, 8))
        self.stack.start().wait_until_ready()
        return "restart"

    def freeze(self, name: str) -> str:
        """A process of a function, with or without its job."""
        found = victims.functions(self.stack, name)
        if not found:
            return ""
        pid = self._chance.choice(found)
        until = time.monotonic() + self._chance.choice(LEASE_FREEZES[:2] if self.gentle else LEASE_FREEZES)
        for one in [pid, *(victims.children(pid) if self._chance.random() < 0.5 else [])]:
            if victims.send(one, signal.SIGSTOP):
                self._frozen[one] = until
        return f"freeze {name}"

    def _thaw(self, moment: float) -> None:
        for pid in [pid for pid, until in self._frozen.items() if until <= moment]:
            del self._frozen[pid]
            victims.send(pid, signal.SIGCONT)

    def _kill(self, what: str, pids: list[int]) -> str:
        return what if pids and victims.send(self._chance.choice(pids), signal.SIGKILL) else ""
