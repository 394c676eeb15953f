"""Templates: what a channel's messages say, in a language of placeholders and nothing else.

`{{schedule}} is late since {{since}}`: a placeholder is a name from a fixed list, so that no template can fail, loop,
read what it should not, or be anything but text when it is told.
"""

import re
from collections.abc import Mapping
from typing import Final

from cronfleet.domain.errors import Invalid

MAX_TEMPLATE: Final = 2_000
"""Characters of a template."""

MAX_RENDERED: Final = 8_000
"""Characters of what comes out: a list of schedules may stand in it more than once."""

PLACEHOLDERS: Final = (
    "state",
    "title",
    "text",
    "kind",
    "subject",
    "schedule",
    "schedules",
    "count",
    "since",
    "opened",
    "ended",
    "tenant",
    "incident",
)

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


def check_template(text: str) -> None:
    """Raises `Invalid` (of no field) for a template that is too long, or holds anything that looks like another one."""
    if len(text) > MAX_TEMPLATE:
        raise Invalid("", f"is {len(text):,} characters long; a template has at most {MAX_TEMPLATE:,}")
    for name in _PLACEHOLDER.findall(text):
        if name not in PLACEHOLDERS:
            raise Invalid("", f"{{{{{name}}}}} is no placeholder; there are {', '.join(PLACEHOLDERS)}")
    rest = _PLACEHOLDER.sub("", text)
    if "{{" in rest or "}}" in rest:
        raise Invalid("", "has a {{ or }} that belongs to no placeholder; write {{schedule}}, or single braces")


def rendered(text: str, values: Mapping[str, str]) -> str:
    """`text` with each placeholder's value; what a value holds is never read as a placeholder."""
    found = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), text)
    return found if len(found) <= MAX_RENDERED else found[: MAX_RENDERED - 1] + "…"
