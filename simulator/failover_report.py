"""What is printed of fail-overs."""

from collections import Counter
from collections.abc import Iterator, Sequence

from simulator.failover_plan import Outcome
from simulator.faults import MINUTE, SECOND
from simulator.world import START


def lines(outcome: Outcome) -> Iterator[str]:
    """The report of one seed."""
    plan = outcome.plan
    how = "is cut off and lives on" if plan.lives_on else "dies"
    fence = "" if not plan.lives_on else (", its rights are taken" if plan.is_revoked else ", it is held")
    verdict = "nothing lost" if outcome.violation is None else f"BROKEN: {outcome.violation}"
    back = ", and back as planned" if outcome.went_back else ""
    yield f"seed {outcome.seed}: {verdict}{back}"
    yield (
        f"  first     {how} at {clock(plan.cut_at)}{fence} at {clock(plan.fenced_at)}; "
        f"lag up to {plan.lag.usual / SECOND:g} s, at worst {plan.lag.worst / SECOND:g} s"
    )
    heal = "never comes" if plan.heals_at is None else f"comes at {clock(plan.heals_at)}"
    runs = f"runs {outcome.takes_over_ms / SECOND:.1f} s later"
    yield f"  second    released at {clock(plan.released_at)}, {runs}; what was missing {heal}"
    doubles = ", ".join(f"{number} {why}" for why, number in sorted(outcome.doubles.items())) or "none"
    number = f"{sum(outcome.doubles.values())} of {outcome.fires} runs, at most {outcome.bound} were possible"
    yield f"  doubles   {number}: {doubles}"
    mended = ", ".join(f"{number} {name}" for name, number in sorted(outcome.mended.items())) or "nothing"
    yield f"  mended    {mended}"
    damage = ", ".join(f"{number} {name}" for name, number in sorted(outcome.damage.items())) or "none"
    yield f"  changes   {outcome.changes['kept']} kept, {outcome.changes['lost']} lost; damage: {damage}"


def clock(at: int) -> str:
    """Minutes and seconds since the world began."""
    minutes, ms = divmod(at - START, MINUTE)
    return f"{minutes:02}:{ms // SECOND:02}"


def summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """All together."""
    doubles, mended, changes, damage = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for one in outcomes:
        doubles.update(one.doubles)
        mended.update(one.mended)
        changes.update(one.changes)
        damage.update(one.damage)
    fires, bound = sum(one.fires for one in outcomes), sum(one.bound for one in outcomes)
    broken = sum(one.violation is not None for one in outcomes)
    back = sum(one.went_back for one in outcomes)
    yield f"{len(outcomes)} fail-overs, {back} and back, {fires} runs: nothing was lost in {len(outcomes) - broken}"
    yield f"ran twice: {sum(doubles.values())} of {bound} that might have ({dict(doubles)})"
    yield f"mended: {dict(mended)}; changes: {dict(changes)}; damage: {dict(damage)}"
