"""What a fixed-time job does where the clock jumps. A wildcard job fires on every real match, whatever is chosen here.

`Gap` is for local times that a change of the clock skipped, `Repeat` for those that it showed twice.
"""

from enum import StrEnum


class Gap(StrEnum):
    """A named local time is skipped."""

    SKIP = "skip"
    """Nothing fires in its place."""
    AFTER = "after"
    """One fire at the first instant after the gap, however many named times were skipped."""


class Repeat(StrEnum):
    """A named local time comes twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
