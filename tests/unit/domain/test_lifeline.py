"""The lifeline: which epoch a time belonged to, also before what the timer remembers."""

from cronfleet.domain.audit import AuditEntry, id_prefix
from cronfleet.domain.lifeline import Span, earlier_spans, known_spans, span_at
from cronfleet.domain.schedule import Status
from tests.support.builders import at, cron, timer

NIGHTLY = cron("0 2 * * *")


def entries(*noted: tuple[int, str]) -> list[AuditEntry]:
    """Newest first, as they are read."""
    return [
        AuditEntry("acme", str(when), when, "ada", action, "schedule:nightly", "r") for when, action in reversed(noted)
    ]


def test_a_nominal_at_the_moment_of_a_change_belongs_to_what_was_before() -> None:
    spans = known_spans(timer(NIGHTLY, None, epoch=2, epoch_starts=(100, 200)))
    owners = {instant: getattr(span_at(spans, instant), "epoch", None) for instant in (100, 101, 200, 201)}
    assert owners == {100: 0, 101: 1, 200: 1, 201: 2}


def test_a_tombstones_last_epoch_is_not_alive() -> None:
    spans = known_spans(timer(NIGHTLY, None, epoch=2, epoch_starts=(100, 200), status=Status.CANCELLED))
    assert [span.is_alive for span in spans] == [False, True, False]


def test_epochs_that_a_timer_has_forgotten_are_read_from_the_audit_log() -> None:
    known = known_spans(timer(NIGHTLY, None, epoch=4, epoch_starts=(300, 400)))
    assert span_at(known, 250) is None
    noted = entries((100, "create"), (150, "edit"), (200, "retime"), (250, "pause"), (300, "resume"))
    assert earlier_spans(known, noted, born_epoch=1) == [
        Span(2, 200, 300, is_alive=True),
        Span(1, 100, 200, is_alive=True),
        Span(0, -(2**63), 100, is_alive=False),
    ]


def test_an_earlier_life_ends_with_its_deletion() -> None:
    known = known_spans(timer(NIGHTLY, None, epoch=3, epoch_starts=(300,), born_epoch=3))
    noted = entries((100, "create"), (200, "cancel"), (300, "create"))
    assert [(span.epoch, span.is_alive) for span in earlier_spans(known, noted, 3)] == [
        (2, False),
        (1, True),
        (0, False),
    ]


def test_a_creation_that_was_noted_a_little_before_its_epoch_began_is_its_own() -> None:
    known = known_spans(timer(NIGHTLY, None, epoch=3, epoch_starts=(300,), born_epoch=3))
    noted = entries((100, "create"), (300, "cancel"), (299, "create"))
    assert [span.epoch for span in earlier_spans(known, noted, 3)][:1] == [2]


def test_changes_of_one_millisecond_are_told_apart_by_their_number() -> None:
    known = known_spans(timer(NIGHTLY, None, epoch=3, epoch_starts=(200, 200)))
    noted = entries((100, "create"), (200, "retime"), (200, "resume"))
    assert [(span.epoch, span.since) for span in earlier_spans(known, noted, 1)][:1] == [(1, 100)]


def test_an_audit_log_that_is_not_read_to_its_end_leaves_the_rest_unknown() -> None:
    known = known_spans(timer(NIGHTLY, None, epoch=9, epoch_starts=(300,)))
    spans = known + earlier_spans(known, entries((200, "resume"), (300, "resume")), 1)
    assert span_at(spans, 250) == Span(8, 200, 300, is_alive=True)
    assert span_at(spans, 200) is None


def test_ids_of_audit_entries_begin_with_their_time() -> None:
    first, second = id_prefix(at("2026-12-01 02:00")), id_prefix(at("2026-12-01 02:00") + 1)
    assert first < second
    assert len(first) == 10
