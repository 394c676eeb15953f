"""Gates in the world: what may not overlap, and the keys of groups, drawn apart from what is drawn beside them."""

import random
from dataclasses import replace
from typing import Final

from cronfleet.domain.overlap import Overlap
from cronfleet.domain.schedule import Spec
from cronfleet.domain.trigger import IntervalTrigger

KEYS: Final = ("warehouse", "ledger")
GATED: Final = (Overlap.SKIP, Overlap.BUFFER_ONE, Overlap.CANCEL_OTHER)


def guarded(spec: Spec, now: int) -> Spec:
    """The spec with another overlap policy, or in a group, for some: by a generator of its own."""
    rng = random.Random(f"{now}/{spec.trigger}")
    policies = spec.policies
    if policies.overlap is not Overlap.ALLOW or rng.random() < 0.1:
        policies = replace(policies, overlap=rng.choice(GATED))
    # Who waits for each turn and loses none needs a trigger that leaves time for all of them.
    is_seldom = not isinstance(spec.trigger, IntervalTrigger) or spec.trigger.every_seconds >= 300
    if rng.random() < 0.15 and (is_seldom or policies.overlap is not Overlap.ALLOW):
        policies = replace(policies, concurrency_key=rng.choice(KEYS))
    return replace(spec, policies=policies)
