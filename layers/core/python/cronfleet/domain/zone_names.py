"""Names of zones: which of them are old names that the zone data keeps as links, and what they are called now."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

import tzdata

_PLAIN: Final = frozenset({"UTC", "GMT"})
"""Links by their form, and yet what everybody writes."""

_OWN: Final[Mapping[str, str]] = {
    "Africa/Asmera": "Africa/Asmara",
    "Africa/Timbuktu": "Africa/Bamako",
    "America/Coral_Harbour": "America/Atikokan",
    "America/Virgin": "America/St_Thomas",
    "Antarctica/South_Pole": "Antarctica/McMurdo",
    "CST6CDT": "America/Chicago",
    "EST5EDT": "America/New_York",
    "Iceland": "Atlantic/Reykjavik",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
    "Pacific/Ponape": "Pacific/Pohnpei",
    "Pacific/Truk": "Pacific/Chuuk",
    "Pacific/Yap": "Pacific/Chuuk",
}
"""The zone data links these to another country's zone with the same clock, or keeps them as zones of their own."""


def current_name(name: str) -> str | None:
    """What the zone of this old name is called now; `None` for a name that is not an old one.

    The zone data marks no link as old, but lists one name or more for each country (`zone.tab`): a link that stands in
    that list is no old name, such as Europe/Copenhagen, although it has the clock of Berlin.
    """
    return _old_names().get(name)


@cache
def _old_names() -> dict[str, str]:
    folder = resources.files(tzdata) / "zoneinfo"
    in_use = {
        line.split("\t")[2]
        for line in (folder / "zone.tab").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    }
    links = [
        line.split() for line in (folder / "tzdata.zi").read_text(encoding="utf-8").splitlines() if line[:2] == "L "
    ]
    old = {name: _short(target) for _, target, name in links if name not in in_use | _PLAIN}
    return {**old, **_OWN}


def _short(target: str) -> str:
    return target.removeprefix("Etc/") if target in ("Etc/UTC", "Etc/GMT") else target
