"""Dependencies: who may run after whom, and what becomes of a run whose parents ended one way or another."""

from collections.abc import Mapping
from contextlib import suppress

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.dependency import MAX_DEPENDANTS, Else, On
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.domain.schedule import Policies, Status
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import Call
from cronfleet.services.ledger import Ledger
from cronfleet.services.lineage import Lineage
from cronfleet.services.reruns import Reruns
from tests.support.builders import cron
from tests.support.family import ACME, FAILURE, NIGHTLY, SUCCESS, TRY_ONCE, TWO, Family, after
from tests.support.faults import Crash

R = RunStatus
TOMORROW = TWO + DAY


@pytest.fixture
def family() -> Family:
    return Family()


def diamond(family: Family, on: On = On.SUCCESS, policies: Policies = TRY_ONCE) -> None:
    """`load`, then `clean` and `count`, then `report`."""
    family.create("load", policies=policies)
    family.create("clean", after("load"), policies)
    family.create("count", after("load", on=On.FINISHED), policies)
    family.create("report", after("clean", "count", on=on), policies)


def joined(family: Family, schedule_id: str) -> Mapping[str, RunStatus]:
    """How its parents ended, as its row says."""
    row = family.row(schedule_id)
    return {} if row is None or row.joined is None else row.joined


# --- who runs after whom ---------------------------------------------------------------------------------------


def test_a_schedule_that_runs_after_another_is_active_and_waits_for_nothing(family: Family) -> None:
    family.create("load")
    family.create("report", after("load"))
    timer = family.timer("report")
    assert (timer.status, timer.nominal_at, timer.due_at) == (Status.ACTIVE, None, None)
    assert family.timer("load").feeds
    assert family.store.get_dependants("acme", "load").names == ("report",)


def test_a_parent_that_is_none_is_refused_by_its_name(family: Family) -> None:
    with pytest.raises(Invalid, match="no schedule load; create it first"):
        family.create("report", after("load"))
    family.create("load")
    with pytest.raises(Invalid, match="cannot run after itself"):
        family.edit("load", after("load"))


def test_a_cycle_is_refused_and_named(family: Family) -> None:
    family.create("a")
    family.create("b", after("a"))
    family.create("c", after("b"))
    with pytest.raises(Invalid, match="would make a cycle: a → b → c → a"):
        family.edit("a", after("c"))
    assert family.timer("a").trigger == NIGHTLY


def test_two_changes_side_by_side_make_no_cycle_together(family: Family) -> None:
    """Each alone would be fine; the second is decided anew once the first is written."""
    family.create("a")
    family.create("b")
    commit = family.store.commit
    raced = []

    def racing(writes):
        if not raced:
            raced.append(1)
            family.edit("b", after("a"))
        commit(writes)

    family.store.commit = racing  # type: ignore[method-assign] - the first commit waits for another
    with pytest.raises(Invalid, match="would make a cycle"):
        family.edit("a", after("b"))
    assert family.timer("a").trigger == NIGHTLY


def test_a_schedule_has_so_many_dependants_and_no_more(family: Family) -> None:
    family.create("load")
    for number in range(MAX_DEPENDANTS):
        family.create(f"after-{number:02}", after("load"))
    with pytest.raises(Invalid, match=f"has {MAX_DEPENDANTS} dependants"):
        family.create("one-more", after("load"))
    family.go_to(TWO + MINUTE)
    ended = [family.status(f"after-{number:02}") for number in range(MAX_DEPENDANTS)]
    assert ended == [R.SUCCEEDED] * MAX_DEPENDANTS


def test_the_last_dependant_that_leaves_makes_its_parent_an_ordinary_schedule_again(family: Family) -> None:
    family.create("load")
    family.create("report", after("load"))
    family.create("bill", after("load"))
    family.schedules.delete(ACME, "report")
    assert family.timer("load").feeds
    family.edit("bill", NIGHTLY)
    assert not family.timer("load").feeds
    assert family.timer("bill").nominal_at == TWO


def test_what_its_parents_name_outlives_their_deletion_and_return(family: Family) -> None:
    family.create("load")
    family.create("report", after("load"))
    family.schedules.delete(ACME, "load")
    family.go_to(TWO + MINUTE)
    assert family.row("report") is None
    family.create("load")
    assert family.timer("load").feeds
    family.go_to(TOMORROW + MINUTE)
    assert family.status("report", TOMORROW) is R.SUCCEEDED


# --- the table of docs/states.md: what a parent's end makes of a run ---------------------------------------------


ENDS = [
    # the parent,        success,     failure,     finished
    ("succeeded", (R.SUCCEEDED, R.SKIPPED, R.SUCCEEDED)),
    ("dead", (R.SKIPPED, R.SUCCEEDED, R.SUCCEEDED)),
    ("cancelled", (R.SKIPPED, R.SKIPPED, R.SUCCEEDED)),
    ("skipped", (R.SKIPPED, R.SKIPPED, R.SUCCEEDED)),
]


def make(family: Family, end: str) -> None:
    """Have `load` end so at two."""
    if end == "dead":
        family.results["load"] = FAILURE
    if end == "cancelled":
        family.clock.set(TWO - 5 * SECOND)
        family.tick()
        run_id = RunKey("acme", "load", 1, TWO).run_id
        family.runs.cancel(ACME, run_id)
    if end == "skipped":  # Claimed, and then paused before a worker had it.
        family.clock.set(TWO - 5 * SECOND)
        family.tick()
        family.schedules.pause(ACME, "load", reason="a closer look")
    family.go_to(TWO + MINUTE)
    assert family.status("load") == end


@pytest.mark.parametrize("place", [0, 1, 2], ids=["success", "failure", "finished"])
@pytest.mark.parametrize(("end", "expected"), ENDS, ids=[end for end, _ in ENDS])
def test_the_end_of_its_parent_decides(family: Family, end: str, expected: tuple[R, R, R], place: int) -> None:
    family.create("load")
    family.create("report", after("load", on=list(On)[place]))
    make(family, end)
    row = family.row("report")
    assert row is not None
    assert row.status is expected[place]
    assert row.joined == {"load": R(end)}
    if row.status is R.SKIPPED:
        assert row.reason is not None
        assert row.reason.code is Code.PARENTS
        assert row.reason.detail["parents"] == f"load={end}"


@pytest.mark.parametrize(
    ("otherwise", "expected"), [(Else.SKIP, R.SKIPPED), (Else.RUN, R.SUCCEEDED), (Else.FAIL, R.DEAD)]
)
def test_what_is_else_is_for_its_owner_to_say(family: Family, otherwise: Else, expected: R) -> None:
    family.create("load")
    family.create("report", after("load", otherwise=otherwise))
    make(family, "dead")
    assert family.status("report") is expected


@pytest.mark.parametrize(
    ("otherwise", "expected"), [(Else.SKIP, R.SKIPPED), (Else.RUN, R.SUCCEEDED), (Else.FAIL, R.DEAD)]
)
def test_a_parent_that_is_late_is_waited_for_so_long_and_no_longer(
    family: Family, otherwise: Else, expected: R
) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=9)))
    family.create("report", after("load", within=600, otherwise=otherwise))
    family.results["load"] = FAILURE
    family.go_to(TWO + 10 * MINUTE - 5 * SECOND)
    assert family.status("report") is R.QUEUED
    family.go_to(TWO + 10 * MINUTE + 10 * SECOND)
    row = family.row("report")
    assert row is not None
    assert row.status is expected
    if otherwise is not Else.RUN:
        assert row.reason is not None
        assert (row.reason.code, row.reason.detail["missing"]) == (Code.PARENT_LATE, "load")


def test_a_failure_that_is_retried_decides_nothing(family: Family) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=2)))
    family.create("report", after("load"))
    family.create("apology", after("load", on=On.FAILURE))
    before_the_retry: list[RunStatus | None] = []

    def load(call: Call) -> Result:
        if call.attempt == 1:
            return FAILURE
        before_the_retry.extend((family.status("report"), family.status("apology")))
        return SUCCESS

    family.results["load"] = load
    family.go_to(TWO + 2 * MINUTE)
    assert before_the_retry == [R.QUEUED, R.QUEUED]
    assert (family.status("report"), family.status("apology")) == (R.SUCCEEDED, R.SKIPPED)
    assert family.called == ["load", "load", "report"]


def test_a_parent_that_ends_after_that_changes_nothing(family: Family) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=9)))
    family.create("report", after("load", within=60))
    family.results["load"] = FAILURE
    family.go_to(TWO + 2 * MINUTE)
    before = family.row("report")
    family.results.clear()
    family.go_to(TWO + HOUR)
    assert family.status("load") is R.SUCCEEDED
    assert family.row("report") == before


def test_what_a_pause_held_back_of_a_parent_is_one_range_and_names_nothing(family: Family) -> None:
    family.create("load")
    family.create("report", after("load", on=On.FINISHED))
    family.schedules.pause(ACME, "load", reason="a closer look")
    family.go_to(TWO + MINUTE)
    family.schedules.resume(ACME, "load")
    assert family.status("load") is R.PAUSED
    assert family.row("report") is None


def test_in_a_join_a_parent_that_names_no_run_is_late(family: Family) -> None:
    family.create("load")
    family.create("hourly", cron("0 * * * *"))
    family.create("report", after("load", "hourly", within=600))
    family.go_to(TWO + HOUR + 11 * MINUTE)
    assert family.status("report") is R.SUCCEEDED
    row = family.row("report", TWO + HOUR)
    assert row is not None
    assert row.reason is not None
    assert (row.status, row.reason.detail["missing"]) == (R.SKIPPED, "load")


def test_a_parent_that_is_run_again_by_hand_starts_nothing(family: Family) -> None:
    family.create("load")
    family.create("report", after("load"))
    make(family, "dead")
    family.results.clear()
    family.runs.run_now(ACME, "load")
    Reruns(store=family.store, clock=family.clock, ids=family.ids, shards=1).rerun(
        ACME, RunKey("acme", "load", 1, TWO).run_id
    )
    family.go_to(TWO + 2 * MINUTE)
    assert family.called == ["load", "load", "load"]
    assert family.status("report") is R.SKIPPED


def test_a_schedule_that_is_paused_or_deleted_itself_does_not_run(family: Family) -> None:
    family.create("load")
    family.create("report", after("load"))
    family.create("bill", after("load"))
    family.create("gone", after("load"))
    family.schedules.pause(ACME, "report", reason="a closer look")
    family.schedules.delete(ACME, "gone")
    family.go_to(TWO + MINUTE)
    row = family.row("report")
    assert row is not None
    assert row.reason is not None
    assert (row.status, row.reason.code) == (R.SKIPPED, Code.PAUSED)
    assert family.status("bill") is R.SUCCEEDED
    assert family.row("gone") is None
    family.schedules.resume(ACME, "report")
    family.go_to(TOMORROW + MINUTE)
    assert family.status("report", TOMORROW) is R.SUCCEEDED


def test_a_pause_that_ends_while_a_parent_runs_costs_nothing(family: Family) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=9)))
    family.create("other")
    family.create("report", after("load", "other"))
    family.results["load"] = FAILURE
    family.go_to(TWO + MINUTE)
    family.schedules.pause(ACME, "report", reason="a closer look")
    family.schedules.resume(ACME, "report")
    family.results.clear()
    family.go_to(TWO + HOUR)
    row = family.row("report")
    assert row is not None
    assert (row.status, row.joined) == (R.SUCCEEDED, {"load": R.SUCCEEDED, "other": R.SUCCEEDED})


def test_a_changed_trigger_drops_what_the_old_one_waits_for(family: Family) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=9)))
    family.create("report", after("load"))
    family.results["load"] = FAILURE
    family.go_to(TWO + MINUTE)
    family.edit("report", after("load", on=On.FINISHED))
    family.results.clear()
    family.go_to(TWO + 3 * HOUR)
    row = family.row("report")
    assert row is not None
    assert row.reason is not None
    assert (row.status, row.reason.code) == (R.SKIPPED, Code.SUPERSEDED)
    family.go_to(TOMORROW + MINUTE)
    assert family.status("report", TOMORROW) is R.SUCCEEDED


# --- joins -----------------------------------------------------------------------------------------------------


DIAMONDS = [
    # load fails?, clean fails?, count fails?, what report waits for, and its end
    ((), On.SUCCESS, R.SUCCEEDED),
    (("clean",), On.SUCCESS, R.SKIPPED),
    (("count",), On.SUCCESS, R.SKIPPED),
    (("clean", "count"), On.FAILURE, R.SUCCEEDED),
    (("count",), On.FAILURE, R.SUCCEEDED),
    ((), On.FAILURE, R.SKIPPED),
    (("load",), On.SUCCESS, R.SKIPPED),
    (("load",), On.FINISHED, R.SUCCEEDED),
    (("load",), On.FAILURE, R.SKIPPED),
]


@pytest.mark.parametrize(("failing", "on", "expected"), DIAMONDS)
def test_a_diamond_comes_together_once(family: Family, failing: tuple[str, ...], on: On, expected: R) -> None:
    diamond(family, on)
    family.results = dict.fromkeys(failing, FAILURE)
    family.go_to(TWO + MINUTE)
    assert family.status("report") is expected
    assert family.called.count("report") == (expected is R.SUCCEEDED)
    if expected is R.SUCCEEDED:
        assert family.called[-1] == "report", "never before its parents' ends"
    assert joined(family, "report").keys() == {"clean", "count"}


def test_parents_that_end_at_the_same_moment_are_both_seen(family: Family) -> None:
    """Each end is decided on the row as it was; the second is decided anew."""
    family.create("load")
    family.create("other")
    family.create("report", after("load", "other"))
    family.clock.set(TWO)
    family.tick()
    (one, two) = family.sent
    raced = []

    def hook(when: str, name: str) -> None:
        if when == "before" and name == "commit" and len(family.called) == 1 and not raced:
            raced.append(1)
            family.worker().handle(two)

    family.faulty = type(family.faulty)(family.store, hook)
    family.worker().handle(one)
    assert raced
    assert joined(family, "report") == {"load": R.SUCCEEDED, "other": R.SUCCEEDED}
    family.go_to(TWO + 30 * SECOND)
    assert family.status("report") is R.SUCCEEDED
    assert family.called.count("report") == 1


@pytest.mark.parametrize("step", range(1, 40))
@pytest.mark.parametrize("kind", [Crash, NoAnswer])
def test_a_worker_that_dies_at_any_step_leaves_the_same_result(step: int, kind: type[BaseException]) -> None:
    """Before each request to the store, and after it, in turn: whoever takes over does the rest."""
    family = Family()
    diamond(family, policies=Policies(retry=Retry(max_attempts=3)))
    seen = 0

    def hook(_when: str, _name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == step:
            raise kind

    family.faulty = type(family.faulty)(family.store, hook)
    family.clock.set(TWO)
    family.tick()
    (first,) = family.sent
    with suppress(Crash, NoAnswer):
        family.worker().handle(first)
    family.faulty = type(family.faulty)(family.store, lambda _when, _name: None)
    for _ in range(60):
        family.clock.advance(10 * SECOND)
        family.sweep()
        family.turn()
        if family.status("report") is R.SUCCEEDED:
            break
    assert [family.status(name) for name in ("load", "clean", "count", "report")] == [R.SUCCEEDED] * 4
    assert family.called.count("report") == 1


def test_a_chain_of_a_hundred_runs_to_its_end(family: Family) -> None:
    family.create("link-000")
    for number in range(1, 100):
        family.create(f"link-{number:03}", after(f"link-{number - 1:03}", within=6 * 3_600))
    family.go_to(TWO + 20 * MINUTE)
    assert family.status("link-099") is R.SUCCEEDED
    assert family.called == [f"link-{number:03}" for number in range(100)]
    with pytest.raises(Invalid, match=r"would make a cycle: link-000 → link-001 → .* → … → .*link-099 → link-000"):
        family.edit("link-000", after("link-099"))


def test_what_is_asked_to_flow_on_flows_on_under_its_own_cause(family: Family) -> None:
    diamond(family)
    family.results["load"] = FAILURE
    family.go_to(TWO + MINUTE)
    assert family.status("report") is R.SKIPPED
    family.results.clear()
    reruns = Reruns(store=family.store, clock=family.clock, ids=family.ids, shards=1)
    form = reruns.rerun(ACME, RunKey("acme", "load", 1, TWO).run_id, flow_on=True).form
    again = RunKey.parse(form["run_id"]).cause
    family.go_to(TWO + 3 * MINUTE)
    ended = {name: family.row(name, cause=again) for name in ("clean", "count", "report")}
    assert {name: row and row.status for name, row in ended.items()} == dict.fromkeys(ended, R.SUCCEEDED)


def test_it_is_explained_which_parent_is_missing_and_until_when(family: Family) -> None:
    family.create("load", policies=Policies(retry=Retry(max_attempts=9)))
    family.create("other")
    family.create("report", after("load", "other", within=7_200))
    family.results["load"] = FAILURE
    family.go_to(TWO + MINUTE)
    said = Ledger(store=family.store, clock=family.clock).explain(ACME, "report", TWO)
    assert said["code"] == Code.WAITS_FOR_PARENTS
    assert said["text"].startswith("waits until 2026-12-01T04:00:00Z for load, which has not ended yet; other is succ")
    assert said["detail"]["missing"] == "load"
    shown = Lineage(store=family.store, clock=family.clock).get(ACME, "report")
    assert shown["latest"]["missing"] == ["load"]
    assert shown["latest"]["parents"] == {"other": "succeeded"}
