"""Run ids, and the table of moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND
from cronfleet.domain.run import MOVES, TERMINAL, Lane, Run, RunKey, RunStatus
from tests.support.builders import at

IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
CAUSES = st.one_of(st.just("schedule"), st.from_regex(r"(manual|rerun|backfill)-[0-9a-z]{1,40}", fullmatch=True))


@given(IDS, IDS, st.integers(0, 999_999_999), st.integers(0, 253_402_300_799), CAUSES)
def test_a_run_id_encodes_its_key_reversibly(tenant: str, schedule: str, epoch: int, second: int, cause: str) -> None:
    key = RunKey(tenant, schedule, epoch, second * SECOND, cause)
    assert RunKey.parse(key.run_id) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "acme",
        "acme~nightly~1~20261201T020000Z",
        "acme~nightly~1~20261301T020000Z~schedule",
        "acme~nightly~x~20261201T020000Z~schedule",
        "acme~nightly~٣~20261201T020000Z~schedule",
        "acme~nightly~1~20261201T020000Z~other",
        "acme~nightly~1~20261201T020000Z~schedule~",
        "acme~night ly~1~20261201T020000Z~schedule",
        "acme~nightly~1~2026-12-01T02:00:00Z~schedule",
        "~nightly~1~20261201T020000Z~schedule",
    ],
)
def test_other_texts_are_refused_by_name(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        RunKey.parse(text)
    assert refusal.value.field == "run_id"


@pytest.mark.parametrize(
    ("cause", "lane"),
    [
        ("schedule", Lane.LIVE),
        ("manual-01kb0000000000000000000000", Lane.LIVE),
        ("rerun-01kb0000000000000000000000", Lane.LIVE),
        ("rerun-o1x2", Lane.BACKFILL),
        ("backfill-o1", Lane.BACKFILL),
    ],
)
def test_only_what_an_operation_asked_for_yields_to_live_traffic(cause: str, lane: Lane) -> None:
    assert RunKey("acme", "nightly", 1, at("2026-12-01 02:00"), cause).lane is lane


def test_a_terminal_row_never_moves_again() -> None:
    for status in TERMINAL:
        row = Run(RunKey("acme", "nightly", 1, at("2026-12-01 02:00")), status, due_at=0, tier="standard")
        for after in RunStatus:
            with pytest.raises(ValueError, match="cannot go"):
                row.moved(after)


def test_every_status_can_be_reached_and_every_live_one_can_end() -> None:
    reachable = set().union(*MOVES.values())
    assert reachable == set(RunStatus)
    for status, after in MOVES.items():
        if status is not None and status not in TERMINAL:
            assert after & TERMINAL
