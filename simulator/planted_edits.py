"""What a planted fault is: replacements in the source of the product's modules."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """`before`, which stands once in the source of `module`, becomes `after`."""

    module: str
    before: str
    after: str


@dataclass(frozen=True)
class Planted:
    """A fault: what it does in words, and where. Two edits where the product has a second line of defence."""

    name: str
    what: str
    edits: tuple[Edit, ...]
    always: tuple[str, ...] = ()
    """What of `simulation.ALWAYS` the worlds have in which it is looked for: it would be rarely met in others."""
