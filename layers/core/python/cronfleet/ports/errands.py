"""Errands, as the services need them stored and carried on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.errand import Errand, ErrandKind, ErrandMessage
from cronfleet.domain.instant import Instant


@dataclass(frozen=True, slots=True)
class PutErrand:
    """Put an errand where none is (`before` is `None`: make it with `new_errand`), or instead of `before`.

    In the second case `errand` is `before.moved(…)`, and the condition is that the `rev` of `before` is stored still.
    """

    errand: Errand
    before: Errand | None = None


class ErrandStore(Protocol):
    """Errands; each is one item, changed on the condition of its `rev`."""

    def get_errand(self, tenant: str, kind: ErrandKind, errand_id: str) -> Errand | None:
        """The errand, read strongly. Raises `Damaged`."""
        ...

    def move_errand(self, errand: Errand, due_at: Instant, failures: int | None = None) -> bool:
        """Let it be due at `due_at`, and raise its `rev`, if that is still `errand.rev`; False when it is not.

        True as well when such a move was made before, and only its reply was lost. What is stored of its failures
        stays unless `failures` says otherwise.
        """
        ...

    def retire_errand(self, errand: Errand) -> bool:
        """Remove it, if its `rev` is still `errand.rev`; True when it is gone, by whomever."""
        ...


class ErrandQueue(Protocol):
    """The queue between the dispatcher and the clerk; messages of one tenant form one fair group."""

    def send(self, messages: Sequence[ErrandMessage]) -> Sequence[ErrandMessage]:
        """Send all, without delay; returns those that were not accepted."""
        ...


class Doer(Protocol):
    """Carries on the errands of one kind."""

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:
        """Do as much of the errand as fits before `until`, and say when to be woken next; `None`: never again.

        It may die at any point, and be asked again at any time, also for what is done: what is done once must not be
        done twice. It decides itself what a freeze or a suspended tenant mean to it. What it raises is an alarm, and
        the errand comes again, later each time.
        """
        ...
