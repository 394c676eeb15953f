"""What leads from one version to another: each field that differs, and a merge patch that does it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget, WebhookTarget
from cronfleet.domain.version_diff import ChangeKind, FieldChange, compare, merge_patch, merged, written_form
from tests.support.builders import cron, every

TARGET = HandlerTarget("billing.nightly")


def spec(**changes: Any) -> Spec:
    return Spec(**{"trigger": cron("0 2 * * *", "Asia/Kolkata"), "target": TARGET, **changes})


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_equal_versions_differ_in_nothing() -> None:
    diff = compare(spec(payload={"a": [1]}), spec(payload={"a": [1]}))
    assert (diff.patch, diff.changes, diff.is_exact) == ({}, (), True)


def test_each_field_that_differs_is_named_with_what_stood_there_and_what_stands_there() -> None:
    before = spec(owner="billing", labels={"team": "billing", "stage": "prod"}, payload={"accounts": ["mumbai"]})
    after = spec(
        trigger=cron("30 2 * * *", "Asia/Kolkata"),
        owner="billing",
        labels={"team": "payments"},
        payload={"accounts": ["mumbai", "pune"]},
        policies=Policies(misfire=Misfire(MisfirePolicy.SKIP)),
    )
    changes = {change.field: change for change in compare(before, after).changes}
    assert changes["trigger.cron"] == FieldChange("trigger.cron", ChangeKind.CHANGED, "0 2 * * *", "30 2 * * *")
    assert changes["labels.stage"] == FieldChange("labels.stage", ChangeKind.REMOVED, "prod", None)
    assert changes["payload.accounts"].after == ["mumbai", "pune"]
    assert changes.keys() == {
        "trigger.cron",
        "labels.team",
        "labels.stage",
        "payload.accounts",
        "policies.misfire.policy",
    }


def test_a_trigger_of_another_kind_takes_the_fields_of_the_old_one_away() -> None:
    diff = compare(spec(), spec(trigger=every(60)))
    assert diff.patch["trigger"] == {
        "cron": None,
        "timezone": None,
        "every": "1m",
        "anchor": "1970-01-01T00:00:00Z",
    }
    assert [change.kind for change in diff.changes] == [ChangeKind.REMOVED] * 2 + [ChangeKind.ADDED] * 2


def test_what_python_takes_for_equal_is_not_equal_in_json() -> None:
    assert [change.field for change in compare(spec(payload={"n": 1}), spec(payload={"n": True})).changes] == [
        "payload.n"
    ]
    assert compare(spec(payload={"n": 1}), spec(payload={"n": 1.0})).patch == {"payload": {"n": 1.0}}


def test_a_null_that_comes_into_a_payload_cannot_be_said_by_a_merge_patch_and_the_diff_admits_it() -> None:
    diff = compare(spec(payload={"a": 1}), spec(payload={"a": None}))
    assert not diff.is_exact
    assert diff.changes == (FieldChange("payload.a", ChangeKind.CHANGED, 1, None),)
    assert compare(spec(payload={"a": None, "b": 1}), spec(payload={"a": None, "b": 2})).is_exact, "it was there before"


def test_of_a_secret_only_its_name_is_ever_shown() -> None:
    url = "https://example.com/hook"
    diff = compare(spec(target=WebhookTarget(url)), spec(target=WebhookTarget(url, "cronfleet/acme/hook")))
    assert diff.patch == {"target": {"secret": "cronfleet/acme/hook"}}


def test_a_payload_that_has_changed_everywhere_is_named_up_to_a_limit_and_patched_whole() -> None:
    before, after = ({f"field-{n}": (n, side) for n in range(500)} for side in (0, 1))
    diff = compare(spec(payload=before), spec(payload=after))
    assert (len(diff.changes), diff.is_cut, diff.is_exact) == (200, True, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "1"]) | st.just(1.0),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


def has_null(value: Any) -> bool:
    """Whether an object in it, reached through objects alone, has a field that is null."""
    return isinstance(value, dict) and any(one is None or has_null(one) for one in value.values())


@given(OBJECT, OBJECT)
def test_the_patch_gives_the_other_version_unless_that_has_a_null(before: Any, after: Any) -> None:
    made = merged(before, merge_patch(before, after))
    assert as_text(made) == as_text(after) or has_null(after)


@given(JSON, JSON)
def test_a_diff_is_exact_just_when_its_patch_gives_the_other_version(before: Any, after: Any) -> None:
    old, new = spec(payload=before), spec(payload=after)
    diff = compare(old, new)
    made = merged(written_form(old), diff.patch)
    assert diff.is_exact == (as_text(made) == as_text(written_form(new)))
    assert bool(diff.changes) == (as_text(before) != as_text(after))


@pytest.mark.parametrize("patch", [{"a": {"b": None}}, {"a": None, "c": {}}, {"c": {"d": None}}, {}, {"a": [None]}])
def test_merging_is_that_of_rfc_7396(patch: Any) -> None:
    expected = {
        '{"a": {"b": null}}': {"a": {"x": 1}},
        '{"a": null, "c": {}}': {"c": {}},
        '{"c": {"d": null}}': {"a": {"b": 1, "x": 1}, "c": {}},
        "{}": {"a": {"b": 1, "x": 1}},
        '{"a": [null]}': {"a": [None]},
    }
    assert merged({"a": {"b": 1, "x": 1}}, patch) == expected[json.dumps(patch)]
