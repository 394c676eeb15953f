"""`RateStore` on DynamoDB: one item a line, in the table `tenants`."""

from collections.abc import Collection, Sequence
from typing import Final, TypeAlias

from botocore.exceptions import ClientError

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import MAX_STATEMENTS, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import (
    REFUSED_FOR_GOOD,
    ConditionFailed,
    Item,
    Statement,
    meaning_of_statement,
    words_of,
)
from cronfleet.domain.claiming import Claiming
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.rates import Draw, Drawn
from cronfleet.ports.side_by_side import in_parts

LINE_LIFE_SECONDS: Final = 30 * 24 * 3600
"""How long a line is remembered that nobody draws from; one that is forgotten is at rest, as it was long since."""

_MICROSECONDS: Final = 1_000_000
MAX_GUESSES: Final = 4
"""The line moves on only: it is before the floor once, and a guess is wrong twice at most. One more is for others."""

_MOVED: Final = "SET #at = if_not_exists(#at, :floor) + :span, #expires_at = :expires_at"
_GO_ON: Final = Expression("attribute_not_exists(#at) OR #at >= :floor", _MOVED)
_GO_ON_BELOW: Final = Expression("attribute_not_exists(#at) OR (#at >= :floor AND #at <= :latest)", _MOVED)
_STAY_BELOW: Final = Expression("#at >= :floor AND #at <= :latest", _MOVED)
"""Of a line that nobody has drawn from, so much is more than there is."""
_BEGIN: Final = Expression("attribute_not_exists(#at) OR #at < :floor", "SET #at = :begun, #expires_at = :expires_at")

# The same as statements. An UPDATE makes no item: a line that nobody has drawn from is left to asking alone.
_GO_ON_TOO: Final = 'SET "expires_at" = ? SET "at" = "at" + ? WHERE "pk" = ? AND "sk" = ? AND "at" >= ?'
_BELOW: Final = ' AND "at" <= ?'
_BEGIN_TOO: Final = 'SET "expires_at" = ? SET "at" = ? WHERE "pk" = ? AND "sk" = ? AND "at" < ?'

_Change: TypeAlias = tuple[Draw, tuple[str, Sequence[Item]]]
"""A draw and its statement."""


class DynamoRates:
    """Lines by their names."""

    _claiming: Claiming

    def __init__(self, database: Database) -> None:
        self._database = database

    def draw(self, line: str, span: int, *, floor: int, ceiling: int | None = None) -> Drawn:
        rests = False
        for _ in range(MAX_GUESSES):
            if rests and ceiling is not None and floor + span > ceiling:
                return Drawn(floor, is_granted=False)
            try:
                return self._begin(line, span, floor) if rests else self._go_on(line, span, floor, ceiling)
            except ConditionFailed as failed:
                stands_at = _at(failed.item)
            rests = stands_at is None or stands_at < floor
            if not rests and stands_at is not None and ceiling is not None and stands_at + span > ceiling:
                return Drawn(stands_at, is_granted=False)
        raise NoAnswer(f"line {line} moves too fast")

    def draw_all(self, draws: Sequence[Draw]) -> Collection[str]:
        """Look where the lines stand, then move each on by a statement among others'. What fails is left alone.

        A herd is in every shard at once: of all who saw a line at rest one begins it, and the others go on from there.
        """
        if self._claiming is not Claiming.BATCHED:
            return ()
        stands = self._stands(draws)
        known = [one for one in draws if one.line in stands]
        meanings = self._moved([(one, change) for one in known if (change := _change(one, stands[one.line]))])
        begun = [
            one
            for one in known
            if stands[one.line] < one.floor and meanings.get(one.line) is Statement.CONDITION_FAILED
        ]
        meanings |= self._moved([(one, change) for one in begun if (change := _change(one, one.floor))])
        return [line for line, meant in meanings.items() if meant is Statement.DONE]

    def _stands(self, draws: Sequence[Draw]) -> dict[str, int]:
        """Where lines stand, or stood a moment ago. Without an answer none; nor those that nobody has drawn from.

        A line only moves on: a look that comes late makes a statement fail, and nothing else.
        """
        places = {keys.line(one.line): one.line for one in draws}
        try:
            items = list(self._database.batch_get(schema.TENANTS, [(place, keys.LINE) for place in places]))
        except NoAnswer:
            return {}
        found = {places[item["pk"]["S"]]: _at(item) for item in items}
        return {line: at for line, at in found.items() if at is not None}

    def _moved(self, changes: Sequence[_Change]) -> dict[str, Statement]:
        """What became of each statement, by its line; of those that nobody has answered for, nothing."""
        found: dict[str, Statement] = {}
        for part in in_parts(changes, MAX_STATEMENTS):
            found |= zip((one.line for one, _ in part), self._meanings(part), strict=False)
        return found

    def _meanings(self, part: Sequence[_Change]) -> Sequence[Statement]:
        """What became of the statements of one request; nothing without an answer to each."""
        try:
            answers = self._database.update_all(schema.TENANTS, [change for _, change in part])
        except NoAnswer:
            return ()
        except ClientError as error:
            if error.response["Error"]["Code"] not in REFUSED_FOR_GOOD:
                raise
            self._database.tell_refused(schema.TENANTS, len(part), str(error))
            return ()
        if len(answers) != len(part):
            return ()
        meanings = [meaning_of_statement(answer) for answer in answers]
        self._tell_refused([words_of(answers[at]) for at, meant in enumerate(meanings) if meant is Statement.REFUSED])
        return meanings

    def _tell_refused(self, said: Sequence[str]) -> None:
        if said:
            self._database.tell_refused(schema.TENANTS, len(said), said[-1])

    def _go_on(self, line: str, span: int, floor: int, ceiling: int | None) -> Drawn:
        values = {":floor": number(floor), ":span": number(span)}
        expression = _GO_ON
        if ceiling is not None:
            expression = _GO_ON_BELOW if floor + span <= ceiling else _STAY_BELOW
            values[":latest"] = number(ceiling - span)
        return self._update(line, span, expression, values, floor)

    def _begin(self, line: str, span: int, floor: int) -> Drawn:
        values = {":floor": number(floor), ":begun": number(floor + span)}
        return self._update(line, span, _BEGIN, values, floor)

    def _update(self, line: str, span: int, expression: Expression, values: Item, floor: int) -> Drawn:
        values = {**values, ":expires_at": _expires_at(floor, span)}
        stored = self._database.update(schema.TENANTS, keys.line(line), keys.LINE, expression, values, returning=True)
        return Drawn(int(stored["at"]["N"]) - span, is_granted=True)


def _at(item: Item | None) -> int | None:
    return None if item is None or "at" not in item else int(item["at"]["N"])


def _expires_at(floor: int, span: int) -> Item:
    # From the floor, which is about now: where it will stand is known only afterwards.
    return number((floor + span) // _MICROSECONDS + LINE_LIFE_SECONDS)


def _change(one: Draw, stands_at: int) -> tuple[str, Sequence[Item]] | None:
    """The statement that moves a line on which stands there; none for one that would pass its ceiling."""
    start = max(stands_at, one.floor)
    if one.ceiling is not None and start + one.span > one.ceiling:
        return None
    expires_at, key = _expires_at(one.floor, one.span), (text(keys.line(one.line)), text(keys.LINE))
    if stands_at < one.floor:
        return _BEGIN_TOO, [expires_at, number(one.floor + one.span), *key, number(one.floor)]
    if one.ceiling is None:
        return _GO_ON_TOO, [expires_at, number(one.span), *key, number(one.floor)]
    limits = number(one.floor), number(one.ceiling - one.span)
    return _GO_ON_TOO + _BELOW, [expires_at, number(one.span), *key, *limits]
