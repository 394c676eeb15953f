"""`RateStore` on DynamoDB: one item a line, in the table `tenants`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, Expression, number
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.rates import Drawn

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


class DynamoRates:
    """Lines by their names."""

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
        # From the floor, which is about now: where it will stand is known only afterwards.
        values = {**values, ":expires_at": number((floor + span) // _MICROSECONDS + LINE_LIFE_SECONDS)}
        stored = self._database.update(schema.TENANTS, keys.line(line), keys.LINE, expression, values, returning=True)
        return Drawn(int(stored["at"]["N"]) - span, is_granted=True)


def _at(item: Item | None) -> int | None:
    return None if item is None or "at" not in item else int(item["at"]["N"])
