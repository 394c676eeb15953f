"""Rounds: deficit round robin over tenants."""

from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.fairness import QUANTA, quantum_of, rounds
from cronfleet.domain.tenant import TIERS

COSTS = st.integers(1, 9)


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(COSTS, max_size=20)), st.integers(1, 5))
def test_rounds_lose_nothing_keep_each_tenants_order_and_never_let_one_run_ahead(
    costs: dict[str, list[int]], quantum: int
) -> None:
    queues = {tenant: [(tenant, number, cost) for number, cost in enumerate(own)] for tenant, own in costs.items()}
    ordered = rounds(queues, cost=lambda item: item[2], quantum=lambda _: quantum)
    assert sorted(ordered) == sorted(item for own in queues.values() for item in own)
    for own in queues.values():
        assert [item for item in ordered if item in own] == own
    sent = dict.fromkeys(queues, 0)
    for position, (tenant, _, cost) in enumerate(ordered):
        sent[tenant] += cost
        waiting = {other for other, _, _ in ordered[position + 1 :]}
        # Whoever waits has been sent as much, but for what one costly item saves up, and a quantum of the round.
        assert all(sent[tenant] <= sent[other] + 9 + quantum for other in waiting)


def test_the_quiet_come_in_the_first_round_however_much_the_noisy_one_has() -> None:
    queues = {"noisy": [f"n{number}" for number in range(1_000)]} | {
        f"q{number}": [f"q{number}"] for number in range(99)
    }
    ordered = rounds(queues, cost=lambda _: 1, quantum=lambda _: 1)
    assert set(ordered[:100]) == {"n0", *(f"q{number}" for number in range(99))}


def test_a_tier_that_pays_for_more_sends_more_in_a_round() -> None:
    queues = {"small": ["s"] * 10, "large": ["l"] * 10}
    ordered = rounds(queues, cost=lambda _: 1, quantum=lambda tenant: 5 if tenant == "large" else 1)
    assert "".join(ordered[:12]) == "slllllslllll"


def test_every_tier_has_a_quantum() -> None:
    assert set(QUANTA) == set(TIERS)
    assert quantum_of("one of tomorrow") == 1
