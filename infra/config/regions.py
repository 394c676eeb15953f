"""Which other regions hold copies of the tables, and whether this installation stands by."""

import re
from dataclasses import dataclass
from typing import Final

from infra.config.context import Context

STANDBY: Final = r"[a-z0-9][a-z0-9-]{0,39}"


@dataclass(frozen=True, slots=True)
class Regions:
    """`standby` is the name under which the installation is deployed as a standby: it is held until that is released.

    Empty: it is none.
    """

    standby: str


def regions_of(context: Context) -> Regions:
    """The choices about regions."""
    standby = context.text("standby")
    if standby and not re.fullmatch(STANDBY, standby):
        context.refuse("standby", standby, "at most 40 small letters, digits and hyphens, another for each occasion")
    return Regions(standby)
