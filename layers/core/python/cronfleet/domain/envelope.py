"""The envelope: what a target outside is told of the run, with the payload inside. Webhooks and messages share it."""

import json
from typing import Any

from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.run import RunKey


def envelope(key: RunKey, attempt: int, due_at: Instant, payload: Any) -> str:
    """The envelope as compact JSON, the same for every try of the same attempt."""
    fields = {
        "type": "cronfleet.run",
        "timestamp": to_text(due_at),
        "run_id": key.run_id,
        "schedule_id": key.schedule_id,
        "attempt": attempt,
        "nominal_at": to_text(key.nominal_at),
        "due_at": to_text(due_at),
        "payload": payload,
    }
    return json.dumps(fields, separators=(",", ":"))
