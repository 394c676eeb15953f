"""`DeadLetterStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.dead_letter import Letter
from cronfleet.domain.instant import DAY, EARLIEST, LATEST, Instant, floor_second
from cronfleet.domain.run import Run
from cronfleet.domain.signature import signature_of
from cronfleet.domain.undelivered import UnreadableMessage
from cronfleet.ports import cursors
from cronfleet.ports.dead_letters import Died, after_letter, owner_of, place_of, tenant_of
from cronfleet.ports.page import Page


class MemoryDeadLetters:
    """Dead letters, and messages that nobody can read."""

    def __init__(self, state: State) -> None:
        self.state = state

    def list_letters(
        self, owner: str, died: Died, *, cursor: str | None, limit: int, oldest_first: bool = False
    ) -> Page[Letter]:
        first = EARLIEST if died.from_at is None else died.from_at
        end = LATEST if died.until_at is None else died.until_at
        found = [letter for letter in self._letters(owner) if first <= letter.died_at < end]
        found.sort(key=lambda letter: (letter.died_at, letter.key), reverse=not oldest_first)
        if cursor is not None:
            after = place_of(cursor, tenant_of(owner))
            places = [(letter.died_at, letter.key) for letter in found]
            ahead = [after < place if oldest_first else place < after for place in places]
            found = [letter for letter, is_ahead in zip(found, ahead, strict=True) if is_ahead]
        return Page(found[:limit], after_letter(found[limit - 1]) if len(found) > limit else None)

    def _letters(self, owner: str) -> list[Letter]:
        rows = (self.state.runs.get(key) for key in self.state.letters.get(owner, ()))
        return [_letter(row) for row in rows if row is not None and owner_of(row) == owner]

    def keep_unreadable(self, message: UnreadableMessage) -> None:
        self.state.unreadable.setdefault((message.delivery.sent_at, message.delivery.message_id), message)

    def list_unreadable(self, *, cursor: str | None, limit: int) -> Page[UnreadableMessage]:
        kept = self.state.unreadable
        places = sorted((place for place, message in kept.items() if message.settled is None), reverse=True)
        if cursor is not None:
            sent_at, message_id = cursors.decode(cursor, 2)
            places = [place for place in places if place < (int(sent_at), message_id)]
        shown = places[:limit]
        more = len(places) > limit
        rest = cursors.encode([str(shown[-1][0]), shown[-1][1]]) if more else None
        return Page([self.state.unreadable[place] for place in shown], rest)

    def get_unreadable(self, sent_at: Instant, message_id: str) -> UnreadableMessage | None:
        return self.state.unreadable.get((sent_at, message_id))


def stored_unreadable(state: State, message: UnreadableMessage) -> UnreadableMessage | None:
    """What stands where `message` is to be put."""
    return state.unreadable.get((message.delivery.sent_at, message.delivery.message_id))


def may_settle(stored: UnreadableMessage | None) -> bool:
    """The condition of a settlement."""
    return stored is not None and stored.settled is None


def _letter(row: Run) -> Letter:
    died_at = row.finished_at or row.due_at
    bare = signature_of(row.status, None if row.reason is None else row.reason.text)
    expires_at = floor_second(max(died_at, row.due_at)) + row.kept_days * DAY
    return Letter(row.key, row.status, died_at, expires_at, row.signature or bare, row.reason)
