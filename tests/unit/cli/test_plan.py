"""The plan of `apply`, without a server."""

import pytest

from cronfleet_cli.errors import WrongUse
from cronfleet_cli.plan import Change, Plan, Refusal, compared, ordered, parents_of, waits_for

HAS = {"id": "a", "version": 3, "trigger": {"cron": "0 2 * * *"}, "labels": {"team": "x"}, "status": "active"}


def doc(name: str, *after: str) -> tuple[str, dict]:
    return name, {"id": name, **({"trigger": {"after": list(after)}} if after else {})}


def names(documents: list) -> list[str]:
    return [place for place, _ in documents]


def test_fields_are_compared_down_to_the_value_that_differs():
    tried = {**HAS, "version": 4, "labels": {"team": "x", "stage": "prod"}, "status": "paused"}
    assert compared(HAS, tried) == ({"field": "labels.stage", "before": None, "after": "prod"},)


def test_what_the_server_makes_no_version_of_is_no_difference_whatever_else_its_answers_tell():
    assert compared(HAS, {**HAS, "a_state_of_tomorrow": 1}) == ()


def test_true_and_one_differ():
    before, after = {"version": 1, "payload": {"n": 1}}, {"version": 2, "payload": {"n": True}}
    assert compared(before, after) == ({"field": "payload.n", "before": 1, "after": True},)


def test_what_runs_after_others_comes_after_them_and_else_nothing_moves():
    documents = [doc("d", "b", "c"), doc("c", "a"), doc("b", "a"), doc("a"), doc("z")]
    assert names(ordered(documents)) == ["a", "z", "c", "b", "d"]


def test_a_cycle_is_named_and_a_parent_in_no_file_holds_nothing_up():
    assert names(ordered([doc("c", "elsewhere")])) == ["c"]
    with pytest.raises(WrongUse, match="a → b → a: these run after each other"):
        ordered([doc("z", "b"), doc("b", "a"), doc("a", "b")])
    with pytest.raises(WrongUse, match="s → s"):
        ordered([doc("s", "s")])


def test_what_is_refused_for_its_parents_alone_waits_for_those_that_the_plan_makes():
    def refused(*fields: str) -> Refusal:
        return Refusal("b", "b.yaml", 400, {"errors": [{"field": field} for field in fields]})

    _, body = doc("b", "a")
    assert waits_for(refused("trigger.after"), body, {"a"})
    assert not waits_for(refused("trigger.after"), body, {"c"})
    assert not waits_for(refused("trigger.after", "owner"), body, {"a"})
    assert not waits_for(Refusal("b", "b.yaml", 403, {}), body, {"a"})


def test_parents_may_be_one_name_or_many():
    assert parents_of({"trigger": {"after": "a"}}) == {"a"}
    assert parents_of({"trigger": {"every": "1m"}}) == frozenset()
    assert parents_of({"trigger": "nonsense"}) == frozenset()


def test_the_plan_for_pipelines_counts_and_says_whether_anything_would_change():
    refusal = Refusal("b", "b.yaml", 400, {"title": "no", "errors": [{"field": "trigger", "reason": "is missing"}]})
    form = Plan((Change("a", "unchanged", "a.yaml"),), (refusal,)).form(applied=False)
    assert form["format"] == "cronfleet-plan/1"
    assert (form["would_change"], form["counts"]["unchanged"], form["counts"]["refused"]) == (False, 1, 1)
    assert form["refused"][0]["errors"][0]["field"] == "trigger"
    assert Plan((Change("a", "delete", ""),)).would_change
