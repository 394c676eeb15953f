"""Selecting: which schedules a request means, as it says so in its query or its body."""

import re
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.schedule import Status
from cronfleet.domain.selection import MAX_LABELS, Selection

from .bulk_schemas import BulkBody, BulkResumeBody
from .specs import LABEL_NAME

# A value may hold commas; what follows one is another label only if it begins like one.
_BETWEEN: Final = re.compile(rf",(?={LABEL_NAME.pattern}=)")


def labels_of(text: str | None) -> dict[str, str]:
    """`?label=team=billing,stage=prod`; raises `Invalid` for anything else."""
    if text is None:
        return {}
    found: dict[str, str] = {}
    for part in _BETWEEN.split(text):
        name, separator, value = part.partition("=")
        if not separator or not LABEL_NAME.fullmatch(name):
            raise Invalid("label", f"{part[:80]!r} is no label; write name=value, several with commas between")
        if name in found:
            raise Invalid("label", f"asks for {name} twice; a schedule has one value of it")
        found[name] = value
    if len(found) > MAX_LABELS:
        raise Invalid("label", f"asks for {len(found)} labels; a schedule has {MAX_LABELS} at most")
    return found


def selection_of(body: BulkBody) -> Selection:
    """Which schedules `body` means; raises `Invalid` where it does not say, or says two things."""
    said = body.filter
    status = None if said.status is None else Status(said.status)
    wanted = Selection(said.labels, said.owner, status, said.prefix)
    short = body.labels if isinstance(body, BulkResumeBody) else None
    if short is not None:
        if body.all or not wanted.is_everything:
            raise Invalid("labels", "is short for a filter of these labels and of status held; leave one of them out")
        return Selection(short, status=Status.HELD)
    if wanted.is_everything and not body.all:
        raise Invalid("filter", 'asks for nothing, which would be every schedule; if you mean that, write "all": true')
    if body.all and not wanted.is_everything:
        raise Invalid("all", "means every schedule, and the filter does not; leave one of them out")
    return wanted
