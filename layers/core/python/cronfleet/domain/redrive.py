"""Redrives: which dead letters one means, and when it stops by itself because failures return. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cronfleet.domain.dead_letter import LetterFilter
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import DEFAULT_CONCURRENT, MAX_RECENT, Operation
from cronfleet.domain.reason import Code, Detail, Reason
from cronfleet.domain.rerun import Version
from cronfleet.domain.signature import Signature

MAX_RUN_IDS: Final = 200
"""Letters that one redrive may name one by one."""

MAX_PAGE: Final = 33
"""Letters of one transaction: each with the row and the timer of its new run, and its own row, settled."""

STOPS_AT: Final = 5
"""So many of the last runs that died in one and the same way stop a redrive."""

MAX_EXCLUDED: Final = 20
"""Signatures that a resumed redrive may leave out."""


@dataclass(frozen=True, slots=True)
class AskedRedrive:
    """Which letters are to be redriven, by their runs or (`run_ids` is `None`) by a filter, how, and how fast.

    `payload` holds the one that is given instead of their own, or is empty. `expected` is how many there are to be.
    """

    run_ids: tuple[str, ...] | None = None
    schedule_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    signature: str | None = None
    from_at: Instant | None = None
    to_at: Instant | None = None
    version: Version = Version.NEWEST
    payload: Sequence[Any] = ()
    flow_on: bool = False
    rate_per_minute: int | None = None
    max_concurrent: int = DEFAULT_CONCURRENT
    expected: int | None = None

    def record(self) -> dict[str, Any]:
        """What is asked, as the operation keeps it."""
        said: dict[str, Any] = {
            "version": self.version.value,
            "run_ids": None if self.run_ids is None else list(self.run_ids),
            "schedule": self.schedule_id,
            "labels": dict(self.labels) or None,
            "signature": self.signature,
            "from": self.from_at,
            "to": self.to_at,
            "payload": list(self.payload) or None,
            "flow_on": self.flow_on or None,
        }
        return {name: value for name, value in said.items() if value is not None}


def letters_of(asked: Mapping[str, Any], created_at: Instant) -> LetterFilter:
    """The filter that a redrive was asked for; what died after it was made is not meant.

    So a run that it redrove in vain, which is a letter again, is not redriven by it a second time.
    """
    to_at = asked.get("to")
    return LetterFilter(
        asked.get("schedule"),
        label_hashes(asked.get("labels", {})),
        asked.get("signature"),
        from_at=asked.get("from"),
        until_at=created_at if to_at is None else min(created_at, to_at),
    )


def is_excluded(operation: Operation, signature: Signature | None) -> bool:
    """Whether a letter of this signature is left out since the redrive was resumed."""
    return signature is not None and signature.digest in operation.excluded


def returning(operation: Operation) -> tuple[str, int] | None:
    """The signature, and how often, that has returned so often among its last runs that it stops."""
    died = Counter(digest for _, digest in map(_parted, operation.recent) if digest)
    most = died.most_common(1)
    return most[0] if most and most[0][1] >= STOPS_AT else None


def _parted(ending: str) -> tuple[str, str]:
    status, _, digest = ending.partition(":")
    return status, digest


def stop_reason(signature: Signature, count: int, of: int) -> Reason:
    """Why a redrive stopped by itself."""
    text = f"{count} of the last {of} runs died in the same way again: {signature.template}"
    shown = min(of, MAX_RECENT)
    detail: Detail = {"signature": signature.digest, "failure": signature.template, "count": count, "of": shown}
    return Reason(Code.FAILURES_RETURN, text, detail)
