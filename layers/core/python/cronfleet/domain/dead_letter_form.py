"""Forms: dead letters, their groups and what became of them, as callers get them."""

from cronfleet.domain.dead_letter import Group, Letter
from cronfleet.domain.form import Form, reason_form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.settlement import Settlement
from cronfleet.domain.undelivered import UnreadableMessage


def letter_form(letter: Letter, now: Instant) -> Form:
    """A dead letter in a list."""
    return {
        "run_id": letter.key.run_id,
        "schedule_id": letter.key.schedule_id,
        "cause": letter.key.cause,
        "nominal_at": to_text(letter.key.nominal_at),
        "status": letter.status.value,
        "kind": letter.kind.value,
        "died_at": to_text(letter.died_at),
        "expires_at": to_text(letter.expires_at),
        "expires_soon": letter.expires_soon(now),
        "signature": letter.signature.digest,
        "failure": letter.signature.template,
        "reason": reason_form(letter.reason),
    }


def group_form(group: Group, now: Instant) -> Form:
    """The letters of one signature."""
    return {
        "signature": group.signature.digest,
        "failure": group.signature.template,
        "count": group.count,
        "first_died_at": to_text(group.first_died_at),
        "last_died_at": to_text(group.last_died_at),
        "first_expires_at": to_text(group.first_expires_at),
        "expires_soon": group.expires_soon(now),
        "examples": list(group.examples),
        "schedules": dict(group.named_schedules),
        "schedule_count": len(group.schedules),
    }


def settlement_form(settled: Settlement | None) -> Form | None:
    """What became of a letter; `None` while nothing has."""
    if settled is None:
        return None
    return {
        "how": settled.how.value,
        "by": settled.by,
        "at": to_text(settled.at),
        "run_id": settled.run_id or None,
        "reason": settled.reason,
    }


def unreadable_form(message: UnreadableMessage) -> Form:
    """A message that nobody can read."""
    return {
        "id": message.unreadable_id,
        "message_id": message.delivery.message_id,
        "queue": message.delivery.queue,
        "receives": message.delivery.receives,
        "sent_at": to_text(message.delivery.sent_at),
        "came_at": to_text(message.came_at),
        "why": message.why,
        "body": message.body,
    }
