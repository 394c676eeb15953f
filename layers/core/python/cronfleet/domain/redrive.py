"""Redrives: which dead letters one means, and when it stops by itself because failures return. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cronfleet.domain.dead_letter import LetterFilter
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import MAX_RECENT, Operation
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


def asked_of(
    *,
    run_ids: Sequence[str] = (),
    letters: LetterFilter | None = None,
    version: Version = Version.NEWEST,
    payload: Sequence[Any] = (),
) -> dict[str, Any]:
    """What a caller asked for, as JSON: the letters by their runs or by a filter; `payload` holds one, or is empty."""
    asked: dict[str, Any] = {"version": version.value}
    if payload:
        asked["payload"] = list(payload)
    if letters is None:
        return asked | {"run_ids": list(run_ids)}
    said = {
        "schedule": letters.schedule_id,
        "labels": list(letters.labels) or None,
        "signature": letters.signature,
        "from": letters.from_at,
        "to": letters.until_at,
    }
    return asked | {"filter": {name: value for name, value in said.items() if value is not None}}


def letters_of(asked: Mapping[str, Any], created_at: Instant) -> LetterFilter:
    """The filter that a redrive was asked for; what died after it was made is not meant.

    So a run that it redrove in vain, which is a letter again, is not redriven by it a second time.
    """
    said = asked["filter"]
    until_at = said.get("to")
    return LetterFilter(
        said.get("schedule"),
        tuple(said.get("labels", ())),
        said.get("signature"),
        from_at=said.get("from"),
        until_at=created_at if until_at is None else min(created_at, until_at),
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
