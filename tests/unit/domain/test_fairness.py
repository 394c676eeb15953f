"""Rounds: every tenant's first, then every tenant's second."""

from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.fairness import rounds


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=40))
def test_rounds_lose_nothing_keep_each_tenants_order_and_never_let_one_run_ahead(pairs: list[tuple[str, int]]) -> None:
    tagged = [(tenant, (tenant, position, value)) for position, (tenant, value) in enumerate(pairs)]
    ordered = rounds(tagged)
    assert sorted(ordered) == sorted(item for _, item in tagged)
    for tenant in "abc":
        own = [item for item in ordered if item[0] == tenant]
        assert own == sorted(own, key=lambda item: item[1])
    left = {tenant: sum(1 for t, _ in tagged if t == tenant) for tenant in "abc"}
    served = dict.fromkeys("abc", 0)
    for tenant, _, _ in ordered:
        served[tenant] += 1
        waiting = [served[t] for t in "abc" if served[t] < left[t]]
        assert served[tenant] <= min(waiting, default=served[tenant]) + 1
