"""`python -m benchmarks.planning`: our own CPU for each firing of a herd, stage by stage, without any client's.

Ten thousand recurring schedules are due in one second (`benchmarks/herd.py`). Each stage of a tick is run on all of
them as the dispatcher runs it, on clients that answer from memory and do nothing else; then the dispatcher serves them
all in one tick. What is printed is CPU time, best of several rounds, each beginning with empty caches: µs for each
firing, and how many times as long as the standard library takes to read the firing's due item as JSON in the same run.

    python -m benchmarks.planning [--firings 10000] [--profile] [--rounds 5]
"""

import argparse
import cProfile
import gc
import json
import pstats
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

from benchmarks.caches import forget
from benchmarks.figures import Figure, report
from benchmarks.herd import due_items, herd
from benchmarks.metering.chain import Silent
from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.items.shards import batch_item
from cronfleet.adapters.dynamodb.items.tenants import tenant_item
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.system.clock import SystemIds
from cronfleet.domain.claim import MAX_BATCH_ENTRIES, Batch, BatchId, Claim, Claimable, DueItem
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.dispatch_plan import LOOK_AHEAD, Plan, Tally, drafted, in_rounds, settle
from cronfleet.domain.frozen import apart
from cronfleet.domain.held_time import attributed
from cronfleet.domain.hold import Hold, Mode
from cronfleet.domain.instant import DAY, HOUR, SECOND
from cronfleet.domain.lease import slot_of
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.page import Page
from cronfleet.ports.queues import DelayedMessage, Tick, delay_until
from cronfleet.services.allotments import Allotments
from cronfleet.services.dispatcher import FIRST_SLICE, Dispatcher
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.look_ahead import PAGE_ITEMS, LookAhead
from cronfleet.services.slot_allotments import SlotAllotments
from cronfleet.services.tenant_rules import TenantRules
from tests.support.settable_clock import NOON, SettableClock

BUDGET_MICROSECONDS: Final = 60
FIRINGS: Final = 10_000
ROUNDS: Final = 5
SHARDS: Final = 4
NOW: Final = NOON + 30 * SECOND
"""All of the jitter is over, and the misfire policy calls nothing missed yet."""

YARDSTICK: Final = "(its due item read as JSON)"
WHOLE: Final = "the whole tick"

_QUOTAS: Final = (("burst", 100_000), ("fires_per_second", 10_000))
"""So that no tenant's rate stands in the way: what waits is another benchmark's."""
_LEASE: Final = {"owner": {"S": "o"}, "fence": {"N": "1"}, "until": {"N": "1"}, "slot_at": {"N": str(slot_of(NOW))}}


class InMemory:
    """A client of either service that answers at once: each write succeeds, and the due index has `pages`."""

    def __init__(self, items: Sequence[Any] = ()) -> None:
        self.meta = SimpleNamespace(events=SimpleNamespace(register=lambda *_: None))
        self._pages = [items[start : start + PAGE_ITEMS] for start in range(0, len(items), PAGE_ITEMS)]
        self._served = 0

    def query(self, **request: Any) -> dict[str, Any]:
        """A page of the due index; nothing is frozen, or held."""
        if request.get("IndexName") != "due" or not self._pages:
            return {"Items": []}
        page = self._pages[self._served]
        self._served += 1
        more = {} if self._served == len(self._pages) else {"LastEvaluatedKey": page[-1]}
        return {"Items": page, **more}

    def update_item(self, **request: Any) -> dict[str, Any]:
        """The lease is ours."""
        place = {"pk": {"S": keys.shard(0)}, "sk": {"S": keys.LEASE}}
        return {"Attributes": {**place, **_LEASE}} if request["ReturnValues"] == "ALL_NEW" else {}

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's name for it
        """Every tenant has a record."""
        ((table, asked),) = RequestItems.items()
        ids = [key["pk"]["S"].removeprefix(keys.tenant("")) for key in asked["Keys"]]
        return {"Responses": {table: [tenant_item(Tenant(one, quotas=_QUOTAS, rev=1)) for one in ids]}}

    def batch_execute_statement(self, Statements: Sequence[Any], **_: Any) -> dict[str, Any]:  # noqa: N803 - likewise
        """Every statement is carried out."""
        return {"Responses": [{} for _ in Statements]}

    def send_message_batch(self, Entries: Sequence[Any], **_: Any) -> dict[str, Any]:  # noqa: N803 - likewise
        """Every message is taken."""
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries], "Failed": []}

    def get_item(self, **_: Any) -> dict[str, Any]:
        """Nothing."""
        return {}

    put_item = get_item


def _store(client: InMemory) -> DynamoJobStore:
    clock = SettableClock(NOW)
    store = DynamoJobStore("planned", client, clock, claiming=Claiming.BATCHED)  # type: ignore[arg-type]  # what it asks
    store.skew_ms = lambda: 0  # type: ignore[method-assign]  # a warm process has heard the time
    return store


def _queue(client: InMemory) -> SqsRunQueue:
    return SqsRunQueue(client, {"standard": "standard"})  # type: ignore[arg-type]  # what of a client it asks


class Stages:
    """The stages of a tick by hand, each on what the one before has made; `seconds` says what each took."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.seconds: dict[str, float] = {}
        self.profile: cProfile.Profile | None = None
        self._items = items
        client = InMemory()
        self._store = _store(client)
        self._queue = _queue(client)
        self._rules = TenantRules(self._store)

    def run(self) -> None:
        """All of them, in the order in which a tick has them."""
        texts = [json.dumps(item) for item in self._items]
        self._timed(YARDSTICK, lambda: [json.loads(text) for text in texts])
        due = self._timed("due items to timers", self._decoded)
        read = self._timed("look-ahead", lambda: self._looked_ahead(due))
        rest = self._timed("freezes", lambda: self._unfrozen(read))
        made = self._timed("plan and next fire", lambda: self._planned(rest))
        claims = self._timed("allotment", lambda: [claim for plan in made for claim in self._allotted(plan)])
        batches = [
            Batch(BatchId(0, 1, number), None, NOW, tuple(claims[start : start + MAX_BATCH_ENTRIES]))
            for number, start in enumerate(range(0, len(claims), MAX_BATCH_ENTRIES), 1)
        ]
        self._timed("batches as items", lambda: [batch_item(batch) for batch in batches])
        self._timed("claims as requests", lambda: [self._store.claim(one.batch_id, one.claims) for one in batches])
        delayed = self._timed("messages", lambda: [self._messages(batch) for batch in batches])
        self._timed("messages as requests", lambda: [self._queue.send(one) for one in delayed])
        ended = [Hold("all", Mode.DRAIN, "benchmark", NOON - DAY, until=NOON - HOUR)]
        self._timed("(after a hold: attributed)", lambda: [attributed(claim, ended, NOW) for claim in claims])

    def _timed(self, name: str, stage: Callable[[], Any]) -> Any:
        gc.collect()
        if self.profile is not None:
            self.profile.enable()
        begin = time.process_time()
        made = stage()
        self.seconds[name] = time.process_time() - begin
        if self.profile is not None:
            self.profile.disable()
        return made

    def _decoded(self) -> list[DueItem]:
        store, due, cursor = _store(InMemory(self._items)), list[DueItem](), None
        while True:
            page = store.due(0, NOW + LOOK_AHEAD, cursor, PAGE_ITEMS)
            due += page.items
            cursor = page.cursor
            if cursor is None:
                return due

    def _looked_ahead(self, due: Sequence[DueItem]) -> list[Sequence[DueItem]]:
        look_ahead = LookAhead(_Pages(due), 0, NOW + LOOK_AHEAD)  # type: ignore[arg-type]  # what of a store it asks
        read = []
        while not look_ahead.is_over:
            read.append(look_ahead.read())
        return read

    def _unfrozen(self, read: Sequence[Sequence[Any]]) -> list[Sequence[Claimable]]:
        watch = FreezeWatch(self._store, SettableClock(NOW), consistent=False)
        return [apart(*watch.over(items), NOW, NOW + LOOK_AHEAD).rest for items in read]

    def _planned(self, rest: Sequence[Sequence[Claimable]]) -> list[Plan]:
        self._tally = Tally()
        return [drafted(items, NOW, self._tally) for items in rest]

    def _allotted(self, plan: Plan) -> list[Claim]:
        tally = self._tally
        tenants = dict(self._rules.of({draft.tenant: draft for draft in plan.drafts}, NOW))
        tiers = {tenant_id: tenant.tier for tenant_id, tenant in tenants.items()}
        allotments, slots = Allotments(self._store, SHARDS, NOW, tally, True), SlotAllotments(self._store, NOW)
        claims: list[Claim] = []
        ordered = in_rounds(plan.drafts, tiers)
        for drafts in (ordered[:FIRST_SLICE], ordered[FIRST_SLICE:]):
            known = [draft for draft in drafts if self._rules.knows(draft.tenant)]
            parts = slots.granted(allotments.parts(slots.narrowed(known, tenants), tenants))
            claims += settle(plan, [*parts, *slots.without()], NOW, tally, tiers)
        return claims

    def _messages(self, batch: Batch) -> list[DelayedMessage]:
        messages = batch.messages().values()
        return [DelayedMessage(self._rules.kept(one, NOW), delay_until(one.due_at, NOW)) for one in messages]


class _Pages:
    """The part of a store that the look-ahead asks."""

    def __init__(self, due: Sequence[DueItem]) -> None:
        self._due = due

    def due(self, _shard: int, _until: int, cursor: str | None, limit: int) -> Page[DueItem]:
        start = int(cursor or 0)
        end = start + limit
        return Page(self._due[start:end], str(end) if end < len(self._due) else None)

    def peek(self, *_: Any) -> Page[Any]:
        return Page([], None)

    def get_due(self, *_: Any) -> list[DueItem]:
        return []


def whole_tick(items: Sequence[Any], profile: cProfile.Profile | None = None) -> float:
    """CPU seconds of the dispatcher's one tick that fires all of them."""
    client = InMemory(items)
    dispatcher = Dispatcher(
        store=_store(client),
        run_queue=_queue(client),
        errand_queue=SqsErrandQueue(client, "errands"),  # type: ignore[arg-type]  # what of a client it asks
        clock=SettableClock(NOW),
        ids=SystemIds(),
        telemetry=Silent(),
        side_by_side=OneByOne(),
    )
    gc.collect()
    if profile is not None:
        profile.enable()
    begin = time.process_time()
    report = dispatcher.tick(Tick(0, slot_of(NOW), SHARDS), NOW + DAY)
    taken = time.process_time() - begin
    if profile is not None:
        profile.disable()
    if report.fires != len(items):
        raise AssertionError(f"{report.fires} fires of {len(items)}: {report}")
    return taken


def _best(items: Sequence[Any], rounds: int) -> dict[str, float]:
    """The least that each stage took, in seconds."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        forget()
        stages = Stages(items)
        stages.run()
        forget()
        found = {**stages.seconds, WHOLE: whole_tick(items)}
        best = {name: min(taken, best.get(name, taken)) for name, taken in found.items()}
    return best


def _print(title: str, best: Mapping[str, float], firings: int) -> None:
    yardstick = best[YARDSTICK]
    print(f"{title}: {firings:,} firings")
    for name, seconds in best.items():
        print(f"  {name:<32} {seconds / firings * 1e6:7.1f} µs   {seconds / yardstick:5.2f}")
    named = sum(seconds for name, seconds in best.items() if name != WHOLE and not name.startswith("("))
    print(f"  {'(all stages together)':<32} {named / firings * 1e6:7.1f} µs   {named / yardstick:5.2f}")


def _profile(items: Sequence[Any]) -> None:
    profile = cProfile.Profile()
    forget()
    whole_tick(items, profile)
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def _figure(title: str, best: Mapping[str, float], firings: int) -> Figure:
    micros = best[WHOLE] / firings * 1e6
    return Figure(
        "Dispatcher",
        f"our own CPU for a firing in a herd of {firings:,}, {title}, without any client's",
        f"{micros:.0f} µs",
        f"{best[WHOLE] / best[YARDSTICK]:.1f} times reading its due item with json",
        f"≤ {BUDGET_MICROSECONDS} µs",
        micros <= BUDGET_MICROSECONDS,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__.split("\n\n")[0])
    parser.add_argument("--firings", type=int, default=FIRINGS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--profile", action="store_true", help="also where the CPU of a whole tick goes")
    options = parser.parse_args()
    figures = []
    for title, is_jittered in (("without jitter", False), ("with jitter", True)):
        items = due_items(sorted(herd(options.firings, is_jittered=is_jittered), key=lambda one: one.due_at or 0))
        best = _best(items, options.rounds)
        _print(title, best, options.firings)
        figures.append(_figure(title, best, options.firings))
        if options.profile:
            _profile(items)
    report(*figures)


if __name__ == "__main__":
    main()
