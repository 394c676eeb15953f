"""Fitting: pages of what callers wrote, none larger than an answer can be."""

import json
from collections.abc import Callable
from typing import Final

from cronfleet.domain.form import Form
from cronfleet.ports.page import Page

MAX_BYTES: Final = 4_000_000
"""Of a page. A function answers with six million bytes at most, in which the page's JSON is text within JSON."""


def fitting(read: Callable[[int], Page[Form]], limit: int) -> Page[Form]:
    """What `read` answers for `limit`; for fewer, at least one, where that would be too large.

    Fewer are asked for again, so that the page's cursor is one of its store's.
    """
    page = read(limit)
    fits = _fitting(page)
    return page if fits == len(page.items) else read(max(1, fits))


def _fitting(page: Page[Form]) -> int:
    size = 0
    for place, form in enumerate(page.items):
        size += len(json.dumps(json.dumps(form)))
        if size > MAX_BYTES:
            return place
    return len(page.items)
