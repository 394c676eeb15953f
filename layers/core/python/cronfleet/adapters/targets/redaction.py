"""Redaction: what a job was given in confidence does not get into its log, nor into the error of its attempt."""

import json
from collections.abc import Iterable
from typing import Final

SHORTEST: Final = 6
"""Characters of what is redacted: a shorter value would blot out words that have nothing to do with it."""

BLOT: Final = "***"


class Redaction:
    """Blots `values` out of text: whole, as JSON writes them, and line by line, as a printed key comes."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        parts = {part for value in values for part in (value, *value.split("\n")) if len(part.strip()) >= SHORTEST}
        written = {form for part in parts for form in (part, json.dumps(part)[1:-1], _in_unicode(part))}
        # The longest first: one may hold another.
        self._parts = sorted(written, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` without any of them."""
        for part in self._parts:
            text = text.replace(part, BLOT)
        return text


def _in_unicode(part: str) -> str:
    return json.dumps(part, ensure_ascii=False)[1:-1]
