"""`SideBySide` without anything side by side: for engines, and tests, that want one call at a time."""

from collections.abc import Callable, Sequence

from cronfleet.ports.side_by_side import Answer


class OneByOne:
    """Each call once the one before has ended."""

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """See `SideBySide.run`."""
        answers: list[Answer] = []
        errors: list[Exception] = []
        for call in calls:
            try:
                answers.append(call())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return answers
