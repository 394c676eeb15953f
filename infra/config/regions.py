"""Which other regions hold copies of the tables, and whether this installation stands by for another."""

import re
from dataclasses import dataclass
from typing import Final

from infra.config.context import Context

STANDBY: Final = r"[a-z0-9][a-z0-9-]{0,39}"
REGION: Final = r"[a-z]{2}(?:-[a-z]+)+-[0-9]"


@dataclass(frozen=True, slots=True)
class Regions:
    """`replicas` are the regions to which the tables are copied, `tables_of` the one whose deployment has made them.

    `standby` is the name under which the installation is deployed as a standby: it is held until that is released.
    Empty: it is none.
    """

    replicas: tuple[str, ...] = ()
    tables_of: str = ""
    standby: str = ""

    @property
    def makes_tables(self) -> bool:
        """Whether the tables are this deployment's own; else they are there already, as copies."""
        return not self.tables_of


def regions_of(context: Context, *, local: bool) -> Regions:
    """The choices under `regions`."""
    standby, tables_of = context.text("regions.standby"), context.text("regions.tables_of")
    replicas = context.texts("regions.replicas")
    if standby and not re.fullmatch(STANDBY, standby):
        context.refuse(
            "regions.standby", standby, "at most 40 small letters, digits and hyphens, another for each occasion"
        )
    _check_replicas(context, replicas, local=local)
    if tables_of and (not re.fullmatch(REGION, tables_of) or tables_of == context.text("region")):
        context.refuse("regions.tables_of", tables_of, "the other region, whose deployment copies its tables here")
    if tables_of and replicas:
        context.refuse("regions.tables_of", tables_of, "this or regions.replicas: one deployment makes the tables")
    if tables_of and not standby:
        # Two regions that both claim from copies run everything twice.
        context.refuse("regions.standby", standby, "a name: on copied tables an installation can only stand by")
    return Regions(replicas, tables_of, standby)


def _check_replicas(context: Context, replicas: tuple[str, ...], *, local: bool) -> None:
    own = context.text("region")
    if replicas and (local or not own):
        context.refuse("regions.replicas", list(replicas), "them for an environment that has a region of its own")
    if len(set(replicas)) < len(replicas):
        context.refuse("regions.replicas", list(replicas), "each region once")
    for region in replicas:
        if not re.fullmatch(REGION, region) or region == own:
            context.refuse("regions.replicas", list(replicas), "other AWS regions, such as eu-central-1")
    if replicas and context.text("encryption.key") not in ("", "aws"):
        context.refuse("regions.replicas", list(replicas), "none, or encryption.key: aws; a key lies in one region")
