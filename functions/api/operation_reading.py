"""Reading of what requests for backfills, re-runs and redrives have in common."""

from cronfleet.domain.errors import Invalid
from cronfleet.services.runs import Override

from .operation_schemas import PaceBody
from .specs import checked_labels, checked_payload


def subject_of(schedule: str, labels: dict[str, str] | None, parent: str) -> tuple[str | None, dict[str, str]]:
    """One schedule, or labels; raises `Invalid` for both or neither, with the field below `parent`."""
    if bool(schedule) == bool(labels):
        said = "goes without labels; leave one of them out" if schedule else "or labels is needed: of what?"
        raise Invalid(f"{parent}schedule", said)
    return schedule or None, checked_labels(labels or {}, f"{parent}labels")


def override_of(body: PaceBody) -> Override | None:
    """The payload that was written, be it null; `None` where it was left out."""
    return Override(checked_payload(body.payload)) if "payload" in body.model_fields_set else None
