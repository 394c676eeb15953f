"""Claims in batches: up to 25 conditional statements of PartiQL in one request, each won or lost on its own.

Facts that this rests on (docs/decisions/0032-batched-claims.md has their sources): an UPDATE whose item is absent, or
does not meet its WHERE, fails its condition and makes nothing; a request that names an item twice is refused as a
whole; the item that made a condition fail is documented to come back, and DynamoDB has been seen not to send it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.claim_writes import ClaimWrite, Form, Value, claimed_by
from cronfleet.adapters.dynamodb.claims import claim_one
from cronfleet.adapters.dynamodb.database import Database
from cronfleet.adapters.dynamodb.errors import REFUSED_FOR_GOOD, Statement, meaning_of_statement, words_of
from cronfleet.domain.claim import ClaimOutcome
from cronfleet.ports.claiming import CLAIMS_AT_ONCE
from cronfleet.ports.job_store import NoAnswer

MAX_TURNS: Final = 3
"""How often statements are asked that were throttled or met a transaction. No client does that: their request went
well."""


def claim_together(database: Database, batch: str, writes: Sequence[ClaimWrite]) -> list[ClaimOutcome]:
    """The outcome of each of `writes`, in their order; see `ShardStore.claim`."""
    claiming = _Claiming(database, batch, writes)
    claiming.ask()
    claiming.look()
    claiming.ask_alone()
    return claiming.outcomes


class _Claiming:
    """What is known of some claims so far. What has no answer is what nothing is known of."""

    def __init__(self, database: Database, batch: str, writes: Sequence[ClaimWrite]) -> None:
        self._database = database
        self._batch = batch
        self._writes = writes
        self._unseen: list[int] = []
        self._alone: list[int] = []
        self._why_alone = ""
        self.outcomes = [ClaimOutcome.UNANSWERED] * len(writes)

    def ask(self) -> None:
        """Every claim, and again those whose statement was not carried out for now."""
        asked = list(range(len(self._writes)))
        for turn in range(MAX_TURNS):
            if turn:
                self._database.back_off(turn)
            asked = [place for part in _parts(self._writes, asked) for place in self._ask_part(part)]
            if not asked:
                return

    def _ask_part(self, part: Sequence[int]) -> Iterator[int]:
        """Claims of one request; yields those to be asked again."""
        try:
            answers = self._database.update_all(schema.SCHEDULES, [_change(self._writes[place]) for place in part])
        except NoAnswer:
            return  # The client has tried again by itself: they are for the caller to ask later.
        except ClientError as error:
            if error.response["Error"]["Code"] not in REFUSED_FOR_GOOD:
                raise
            # Which of them it is does not say.
            self._alone += part
            self._why_alone = str(error)
            return
        if len(answers) != len(part):
            return  # Whose the answers are cannot be told. One that was won will say so when it is asked again.
        for place, answer in zip(part, answers, strict=True):
            yield from self._note(place, answer)

    def _note(self, place: int, answer: Mapping[str, Any]) -> Iterator[int]:
        match meaning_of_statement(answer):
            case Statement.DONE:
                self.outcomes[place] = ClaimOutcome.WON
            case Statement.CONDITION_FAILED:
                item = answer["Error"].get("Item")
                if item:
                    self._judge(place, item)
                else:
                    self._unseen.append(place)
            case Statement.NO_ANSWER:
                yield place
            case Statement.REFUSED:
                self._alone.append(place)
                self._why_alone = words_of(answer)

    def _judge(self, place: int, item: Mapping[str, Any] | None) -> None:
        """A claim whose condition failed, by the item that is stored: this batch may have won it before."""
        self.outcomes[place] = ClaimOutcome.WON if claimed_by(item) == self._batch else ClaimOutcome.LOST

    def look(self) -> None:
        """Read who has what could not be claimed, where the refusal did not show it.

        Nothing is lost by looking later: under this batch's id nobody claims but who finishes this very batch.
        """
        places = [self._writes[place].place for place in self._unseen]
        try:
            items = list(self._database.batch_get(schema.SCHEDULES, places, consistent=True)) if places else []
        except NoAnswer:
            return
        found = {(item["pk"]["S"], item["sk"]["S"]): item for item in items}
        for place in self._unseen:
            self._judge(place, found.get(self._writes[place].place))

    def ask_alone(self) -> None:
        """What a batch will not take, each by itself: one that is refused then too is impossible.

        So neither a claim that cannot be stored costs its neighbours anything, nor can a mistake in our statements, or
        an engine's in reading them, park anybody's schedule.
        """
        if self._alone:
            self._database.tell_refused(schema.SCHEDULES, len(self._alone), self._why_alone)
        for place in self._alone:
            self.outcomes[place] = claim_one(self._database, self._batch, self._writes[place])


def _parts(writes: Sequence[ClaimWrite], asked: Sequence[int]) -> Iterator[Sequence[int]]:
    """`asked` in parts of one request; none of them names an item twice."""
    part: dict[tuple[str, str], int] = {}
    for place in asked:
        if len(part) == CLAIMS_AT_ONCE or writes[place].place in part:
            yield list(part.values())
            part = {}
        part[writes[place].place] = place
    if part:
        yield list(part.values())


def _change(write: ClaimWrite) -> tuple[str, Sequence[Value]]:
    key = ({"S": write.partition}, {"S": write.sort})
    return _statement(write.form), (*write.sets, *key, *write.equal)


@lru_cache(maxsize=64)
def _statement(form: Form) -> str:
    """A statement behind the table's name; its parameters are what is set, the key, and what must be as it was."""
    changes = [f'SET "{name}" = ?' for name in form.sets] + [f'REMOVE "{name}"' for name in form.removes]
    tests = [f'"{name}" = ?' for name in ("pk", "sk", *form.equal)]
    tests += [f'"{name}" IS MISSING' for name in form.absent]
    return f"{' '.join(changes)} WHERE {' AND '.join(tests)}"
