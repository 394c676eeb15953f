"""A herd in one shard: how long its tick takes by how its calls go, in milliseconds of virtual time."""

from simulator.herd import play

HERD = 400


def test_calls_that_go_side_by_side_take_a_herd_through_in_a_third_of_the_time() -> None:
    after, beside = (play(HERD, batched=True, side_by_side=side_by_side) for side_by_side in (False, True))
    assert (after.fires, beside.fires) == (HERD, HERD)
    assert 3 * beside.took <= after.took


def test_a_herd_comes_through_one_shard_within_a_second() -> None:
    herd = play(1_600, batched=True, side_by_side=True)
    assert (herd.fires, herd.ticks) == (1_600, 1)
    assert herd.took <= 1_000
