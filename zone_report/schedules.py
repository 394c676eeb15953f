"""The schedules to compare: JSON lines as `python -m cronfleet.preview` takes them, or a tenant's own over HTTP."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

import httpx

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.domain.trigger import Trigger, parse_trigger

PER_PAGE: Final = 100
MAX_PAGES: Final = 100_000
HTTP_SECONDS: Final = 30.0
_TRIGGER_FIELDS: Final = ("cron", "at", "every", "anchor", "timezone", "gap", "overlap", "dialect", "calendar")


@dataclass(frozen=True)
class Schedule:
    """A schedule by its name, and the form of its trigger."""

    name: str
    form: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The trigger as people write it."""
        return str(self.form.get("cron") or self.form.get("at") or f"every {self.form.get('every')}")

    def trigger(self, now: Instant) -> Trigger:
        """Read with the zone data at work; raises `Invalid`. A calendar plays no part: see `has_calendar`."""
        return parse_trigger({name: value for name, value in self.form.items() if name != "calendar"}, now)

    @property
    def has_calendar(self) -> bool:
        """Whether a calendar may take some of the dates away, or move them."""
        return self.form.get("calendar") is not None


def from_lines(lines: TextIO) -> Iterator[Schedule]:
    """One JSON object a line; `id` names it, else its line does. Raises `Invalid` with the line's number."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
        except ValueError as error:
            raise Invalid(f"line {number}", f"is not JSON: {error}") from None
        if not isinstance(read, dict):
            raise Invalid(f"line {number}", "is JSON but no object with a key cron, at or every")
        form = {**read, **({"timezone": read["tz"]} if "tz" in read else {})}
        kept = {name: form[name] for name in _TRIGGER_FIELDS if form.get(name) is not None}
        yield Schedule(str(read.get("id", f"line {number}")), kept)


def from_service(url: str, key: str) -> Iterator[Schedule]:
    """Every schedule of the tenant that the key belongs to. Raises `httpx.HTTPError`."""
    cursor: str | None = None
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=HTTP_SECONDS) as client:
        for _ in range(MAX_PAGES):
            asked = {"limit": PER_PAGE} | ({"cursor": cursor} if cursor else {})
            answer = client.get("/v1/schedules", params=asked)
            answer.raise_for_status()
            page = answer.json()
            for one in page["schedules"]:
                if one["status"] != "completed":
                    yield Schedule(one["id"], one["trigger"])
            cursor = page["cursor"]
            if cursor is None:
                return
