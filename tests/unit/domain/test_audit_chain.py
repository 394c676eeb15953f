"""Digests that anybody can make again, as docs/audit.md says, and chains that have one order."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.audit import AuditEntry, Link, Wanted, schedule_subject, subject
from cronfleet.domain.audit_chain import (
    SEAL_SLICES,
    Head,
    Line,
    Seal,
    digest_of,
    entry_digest,
    form_text,
    linked,
    seal_digest,
    slice_of,
)
from cronfleet.domain.audit_export import entry_line, entry_of, seal_line, seal_of

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FORMS = st.none() | st.dictionaries(TEXT, JSON, max_size=4)


def entry(**changes: Any) -> AuditEntry:
    values: dict[str, Any] = {
        "tenant": "acme",
        "entry_id": "01kb7w0m8nf0c5s2x9q4v6t1ad",
        "at": 1_796_040_000_123,
        "actor": "ada",
        "action": "pause",
        "subject": "schedule:nightly",
        "request_id": "r-1",
        "before": {"status": "active", "payload": {"b": 1, "a": "é"}},
        "after": None,
        "reason": "month end",
        "credential": "key-1",
        "home_tenant": "platform",
    }
    return AuditEntry(**{**values, **changes})


def test_the_digest_of_an_entry_is_that_of_its_fields_as_netstrings() -> None:
    """Made again from the document alone; with `printf … | sha256sum` it is the same."""
    text = (
        b"17:cronfleet-audit-1,4:acme,16:schedule:nightly,1:7,64:" + b"a" * 64 + b","
        b"26:01kb7w0m8nf0c5s2x9q4v6t1ac,26:01kb7w0m8nf0c5s2x9q4v6t1ad,13:1796040000123,3:ada,5:key-1,8:platform,"
        b'5:pause,3:r-1,46:{"payload":{"a":"\xc3\xa9","b":1},"status":"active"},0:,9:month end,'
    )
    link = Link(7, "a" * 64, "01kb7w0m8nf0c5s2x9q4v6t1ac", "")
    assert entry_digest(entry(), link) == hashlib.sha256(text).hexdigest()


def test_the_digest_of_a_seal_is_that_of_its_fields_as_netstrings() -> None:
    seal = Seal("acme", 2, 1_796_040_000_000, (Line("tenant", 1, "01k", "b" * 64),), "a" * 64)
    text = b"16:cronfleet-seal-1,4:acme,1:2,64:" + b"a" * 64 + b",13:1796040000000,"
    text += b"6:tenant,1:1,3:01k,64:" + b"b" * 64 + b","
    assert seal_digest(seal) == hashlib.sha256(text).hexdigest()


@given(st.lists(TEXT, max_size=6), st.lists(TEXT, max_size=6))
def test_other_fields_have_another_digest_however_they_are_cut(one: list[str], other: list[str]) -> None:
    assert (digest_of(one) == digest_of(other)) == (one == other)


@given(FORMS)
def test_what_an_entry_says_is_the_same_text_after_every_store_and_every_order_of_names(form: Any) -> None:
    text = form_text(form)
    assert bool(text) == (form is not None)
    if form is not None:
        assert form_text(json.loads(text)) == text
        assert form_text(json.loads(json.dumps(form))) == text
        assert form_text(dict(reversed(form.items()))) == text


def test_half_of_a_surrogate_pair_can_be_digested() -> None:
    said = entry(before={"payload": "\ud800"})
    assert entry_digest(said, Link(1, "", "", "")) == entry_digest(entry_of_text(said), Link(1, "", "", ""))


def entry_of_text(said: AuditEntry) -> AuditEntry:
    """As it comes back out of JSON text."""
    return entry(before=json.loads(json.dumps(said.before)))


@given(FORMS, FORMS, TEXT, TEXT)
def test_an_entry_comes_back_out_of_its_line_with_all_that_its_digest_is_made_of(
    before: Any, after: Any, actor: str, reason: str
) -> None:
    (one, two), _ = linked(
        [entry(before=before, actor=actor), entry(entry_id="z", after=after, reason=reason, credential="")], {}
    )
    for said in (one, two, entry()):
        back = entry_of(json.loads(json.dumps(entry_line(said))))
        assert back == said
        assert isinstance(back, AuditEntry)
        assert back.link == said.link
        assert back.link is None or entry_digest(back, back.link) == back.link.digest


def test_a_seal_comes_back_out_of_its_line() -> None:
    seal = Seal("acme", 2, 5, (Line("tenant", 1, "01k", "b"), Line("schedule:a", 9, "01l", "c")), "a", "d")
    assert seal_of(json.loads(json.dumps(seal_line(seal)))) == seal


def test_entries_follow_on_the_end_that_is_stored_and_on_one_another() -> None:
    head = Head("acme", "schedule:nightly", 4, "01a", "f" * 64, "019", seal=3)
    entries = [entry(entry_id="01b"), entry(entry_id="01c", subject="tenant"), entry(entry_id="01d")]
    placed, heads = linked(entries, {("acme", "schedule:nightly"): head})
    first, other, second = (one.link for one in placed)
    assert first is not None
    assert other is not None
    assert second is not None
    assert (first.seq, first.previous, first.previous_id) == (5, "f" * 64, "01a")
    assert (other.seq, other.previous, other.previous_id) == (1, "", "")
    assert (second.seq, second.previous, second.previous_id) == (6, first.digest, "01b")
    assert heads == {
        ("acme", "schedule:nightly"): Head("acme", "schedule:nightly", 6, "01d", second.digest, "019"),
        ("acme", "tenant"): Head("acme", "tenant", 1, "01c", other.digest, "01c"),
    }
    assert linked([], {}) == ([], {})


def test_every_slice_has_tenants() -> None:
    assert {slice_of(f"tenant-{number}") for number in range(100)} == set(range(SEAL_SLICES))


def test_a_subject_says_what_kind_of_thing_changed() -> None:
    assert (entry().schedule_id, entry(subject=subject("key", "01k")).schedule_id) == ("nightly", "")
    assert schedule_subject("a") == "schedule:a"
    assert (entry().acting_for, entry(home_tenant="").acting_for) == ("acme", "")
    with pytest.raises(ValueError, match="no subject"):
        entry(subject="nightly")


@pytest.mark.parametrize(
    ("wanted", "takes"),
    [
        (Wanted(0, 2 * 10**12), True),
        (Wanted(1_796_040_000_123, 1_796_040_000_123, "schedule:nightly", "ada", "pause"), True),
        (Wanted(1_796_040_000_124, 2 * 10**12), False),
        (Wanted(0, 1_796_040_000_122), False),
        (Wanted(0, 2 * 10**12, subject="tenant"), False),
        (Wanted(0, 2 * 10**12, actor="bob"), False),
        (Wanted(0, 2 * 10**12, action="resume"), False),
    ],
)
def test_an_entry_is_wanted_by_time_subject_actor_and_action(wanted: Wanted, takes: bool) -> None:
    assert wanted.takes(entry()) == takes
