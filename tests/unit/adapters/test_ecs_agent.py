"""Task protection: asked for before a job, renewed while it goes on, let go of by the last; and never in the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cronfleet.adapters.ecs.agent import RENEW_AFTER, TRY_AGAIN_AFTER, TaskProtection, log_place
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.instant import MINUTE, SECOND
from tests.support.ecs_agent import EcsAgent, ecs_agent
from tests.support.settable_clock import NOON, SettableClock


@pytest.fixture
def agent() -> Iterator[EcsAgent]:
    with ecs_agent() as running:
        yield running


def place(agent: str, folder: Path, number: int, clock: SettableClock) -> TaskProtection:
    return TaskProtection(agent=agent, shared=folder / "busy", place=number, longest_minutes=150, clock=clock)


def test_a_task_is_protected_from_its_first_job_to_its_last(agent: EcsAgent, tmp_path: Path) -> None:
    clock = SettableClock(NOON)
    one, other = (place(agent.address, tmp_path, number, clock) for number in (0, 1))
    one.begin()
    assert agent.asked == [{"ProtectionEnabled": True, "ExpiresInMinutes": 30}]
    other.begin()
    one.end()
    assert agent.wanted == [True, True], "the other has a job still"
    other.end()
    assert agent.wanted == [True, True, False]
    other.end()
    assert len(agent.asked) == 3, "it is over already"


def test_it_is_renewed_long_before_it_runs_out_and_not_for_ever(agent: EcsAgent, tmp_path: Path) -> None:
    clock = SettableClock(NOON)
    protection = place(agent.address, tmp_path, 0, clock)
    protection.look()
    assert agent.asked == [], "there is no job"
    protection.begin()
    for _ in range(12 * 60):
        clock.advance(MINUTE)
        protection.look()
    # A job of a night must not keep a new version out for a night.
    assert len(agent.asked) == 1 + 150 * MINUTE // RENEW_AFTER - 1


def test_a_refusal_keeps_no_job_from_its_work_and_is_asked_about_again(agent: EcsAgent, tmp_path: Path) -> None:
    clock = SettableClock(NOON)
    agent.refuses = True
    protection = place(agent.address, tmp_path, 0, clock)
    protection.begin()
    clock.advance(TRY_AGAIN_AFTER - SECOND)
    protection.look()
    assert len(agent.asked) == 1
    agent.refuses = False
    clock.advance(SECOND)
    protection.look()
    clock.advance(RENEW_AFTER - SECOND)
    protection.look()
    assert len(agent.asked) == 2, "granted: the next is a renewal"


def test_nobody_there_is_no_reason_not_to_work(tmp_path: Path) -> None:
    protection = place("http://127.0.0.1:9", tmp_path, 0, SettableClock(NOON))
    protection.begin()
    protection.look()
    protection.end()


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_work(agent: EcsAgent, tmp_path: Path) -> None:
    protection = place(agent.address, tmp_path / "gone", 0, SettableClock(NOON))
    protection.begin()
    protection.look()
    protection.end()
    assert agent.wanted == [True], "whether others have jobs nobody knows: it ends by itself"


def test_where_the_log_of_the_task_goes_is_known_from_its_metadata(agent: EcsAgent) -> None:
    assert log_place(f"{agent.address}/metadata") == LogPlace("eu-west-1", "/g", "worker/worker/1")
    assert log_place("http://127.0.0.1:9/metadata") is None
