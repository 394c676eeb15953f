"""Where dead letters are found, and where messages are kept that nobody can read."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.dead_letter import Letter, is_letter
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run, RunKey
from cronfleet.domain.undelivered import UnreadableMessage
from cronfleet.ports import cursors
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class Died:
    """A stretch of time in which letters died: from `from_at` on, and before `until_at`; `None` is no bound."""

    from_at: Instant | None = None
    until_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class SettleUnreadable:
    """Put a message that cannot be read, which is settled now, on the condition that it is there and was not."""

    message: UnreadableMessage


class DeadLetterStore(Protocol):
    """Dead letters by an index, which is a hint: whoever acts on one reads its row."""

    def list_letters(
        self, owner: str, died: Died, *, cursor: str | None, limit: int, oldest_first: bool = False
    ) -> Page[Letter]:
        """A page of a tenant's letters by the time of their death, newest first unless asked otherwise.

        With `redriven_by` as owner: of those that an operation of the tenant has settled by runs of its own.

        What was written in the last moments may be missing, and what was settled in them may still be there.
        """
        ...

    def keep_unreadable(self, message: UnreadableMessage) -> None:
        """Keep a message that cannot be read for as long as rows are kept; the same one again changes nothing."""
        ...

    def list_unreadable(self, *, cursor: str | None, limit: int) -> Page[UnreadableMessage]:
        """Messages that cannot be read and are not settled, newest first; a page may be short before the last."""
        ...

    def get_unreadable(self, sent_at: Instant, message_id: str) -> UnreadableMessage | None:
        """One of them, settled or not, read strongly."""
        ...


def after_letter(letter: Letter) -> str:
    """The cursor that goes on after this letter, in either direction."""
    return cursors.encode([letter.key.run_id, str(letter.died_at)])


def place_of(cursor: str, tenant: str) -> tuple[Instant, RunKey]:
    """When the letter died that a cursor goes on after, and its key; raises `Invalid("cursor")` for any other text."""
    run_id, died_at = cursors.decode(cursor, 2)
    try:
        at, key = int(died_at), RunKey.parse(run_id)
    except (ValueError, Invalid) as error:
        raise cursors.foreign() from error
    if key.tenant != tenant:
        raise cursors.foreign()
    return at, key


def redriven_by(tenant: str, operation_id: str) -> str:
    """The owner of the letters that an operation has settled by runs of its own: no tenant's id has a tilde."""
    return f"{tenant}~{operation_id}"


def owner_of(run: Run) -> str | None:
    """In whose list a row stands: its tenant's while it is a letter, then its operation's that settled it."""
    if is_letter(run):
        return run.key.tenant
    operation = run.settled.operation if run.settled is not None else ""
    return redriven_by(run.key.tenant, operation) if operation else None


def tenant_of(owner: str) -> str:
    """The tenant whose letters an owner's are."""
    return owner.partition("~")[0]
