"""The callers of a stack under fire: what they order, change, pause and delete, and when each answer came.

Every request is repeated until it is answered, as a careful caller's would be; so a lost answer is not a lost change.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

from local.testing import StackProcess
from tests.e2e.ledger import SECOND, Era, Every, Once, Order, Trigger, instant
from tests.e2e.receiver import Receiver

PATIENCE_SECONDS = 120
AGAIN_SECONDS = 0.2
ACCOUNTS = ("a", "b", "c")
BILLED = "bills-0"
CALLED = ("called-0", "called-1")
BEAT = {"handler": "demo.heartbeat"}
RETRIES = {"max_attempts": 5, "backoff": {"kind": "fixed", "base_seconds": 1}}


def now() -> int:
    """The callers' clock, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def text(moment: int) -> str:
    """RFC 3339 text of a whole second."""
    return datetime.fromtimestamp(moment // SECOND, UTC).isoformat().replace("+00:00", "Z")


class Client:
    """Asks the API until it answers, whatever is killed meanwhile."""

    def __init__(self, stack: StackProcess) -> None:
        self._stack = stack

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON of the answer; the same Idempotency-Key for every try."""
        key = f"{random.getrandbits(64):x}"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                status, content = self.once(method, path, body, key)
                if status < 500:
                    return status, json.loads(content or b"null")
                said = f"{status} {content[:200]!r}"
            except (OSError, http.client.HTTPException, ValueError) as error:
                said = repr(error)
            assert time.monotonic() < deadline, f"{method} {path} had no answer in {PATIENCE_SECONDS} s: {said}"
            time.sleep(AGAIN_SECONDS)

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer that must be a good one."""
        status, content = self.ask(method, path, body)
        assert status < 400, f"{method} {path}: {status} {content}"
        return content

    def runs(self, schedule_id: str) -> list[dict[str, Any]]:
        """The whole history of a schedule, newest first."""
        rows: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.must("GET", f"/v1/schedules/{schedule_id}/runs?limit=100{cursor}")
            rows += page["runs"]
            if not page["cursor"]:
                return rows
            cursor = f"&cursor={quote(page['cursor'])}"

    def once(self, method: str, path: str, body: Any, key: str) -> tuple[int, bytes]:
        """Status and body of the answer to one try."""
        facts = self._stack.facts
        where = urlsplit(facts["url"])
        headers = {"Authorization": f"Bearer {facts['key']}", "Content-Type": "application/json"}
        if method == "POST":
            headers["Idempotency-Key"] = key
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=35)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Callers:
    """A company that has `scale` times the usual number of schedules, and keeps changing its mind about some."""

    def __init__(self, stack: StackProcess, seed: int, tolerance: int = 0) -> None:
        self.client = Client(stack)
        self.orders: dict[str, Order] = {}
        self.manual: set[str] = set()
        self.failures: list[str] = []
        self.receiver = Receiver(now)
        self._tolerance = tolerance
        self._chance = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    # --- what is ordered at the beginning --------------------------------------------------------------------

    def register(self, scale: int, minutes: float) -> None:
        """Everything that fires from now on."""
        for number in range(scale):
            self._beats(f"second-{number}", 1)
            self._beats(f"two-{number}", 2)
            self._beats(f"five-{number}", 5)
        for policy in ("skip", "fire_once"):
            self._beats(f"strict-{policy}", 1, misfire={"policy": policy, "grace_seconds": 5})
        self._beats("strict-catch-up", 1, misfire={"policy": "catch_up", "max": 3, "grace_seconds": 5})
        for name in ("moody-0", "moody-1", "retimed-0", "edited-0", "doomed-0"):
            self._beats(name, 1)
        for name, zone in (("cron-utc", "UTC"), ("cron-kolkata", "Asia/Kolkata")):
            self._order(name, Every(60), {"trigger": {"cron": "* * * * *", "timezone": zone}}, BEAT)
        self._flaky("flaky-0")
        self._slow("gated-0")
        self._bills(BILLED)
        for name in CALLED:
            self._order(name, Every(2), self._interval(2), {"url": self.receiver.url}, {"timeout_seconds": 10})
        for number in range(max(4, int(minutes * 6))):
            at = (now() // SECOND + 5 + self._chance.randrange(int(minutes * 60) + 5)) * SECOND
            self._order(f"shot-{number}", Once(at), {"trigger": {"at": text(at)}}, BEAT)

    def _beats(self, name: str, seconds: int, **policies: Any) -> None:
        self._order(name, Every(seconds), self._interval(seconds), BEAT, policies)

    def _flaky(self, name: str) -> None:
        policies = {"retry": RETRIES, "timeout_seconds": 10}
        self._order(name, Every(5), self._interval(5), {"handler": "demo.flaky"}, policies, {"failures": 1})

    def _slow(self, name: str) -> None:
        policies = {"overlap": "skip", "timeout_seconds": 10, "retry": RETRIES}
        self._order(name, Every(2), self._interval(2), {"handler": "demo.slow"}, policies, {"seconds": 3})

    def _bills(self, name: str) -> None:
        payload = {"accounts": ACCOUNTS, "seconds_per_account": 1}
        policies = {"timeout_seconds": 10, "retry": RETRIES}
        self._order(name, Every(10), self._interval(10), {"handler": "billing.nightly"}, policies, payload)

    def _interval(self, seconds: int) -> dict[str, Any]:
        return {"trigger": {"every": f"{seconds}s", "anchor": "2026-01-01T00:00:00Z"}}

    def _order(
        self,
        name: str,
        fires: Trigger,
        definition: Mapping[str, Any],
        target: Mapping[str, str],
        policies: Mapping[str, Any] | None = None,
        payload: Any = None,
    ) -> None:
        wish = {**definition, "target": target, "policies": policies or {}, "payload": payload}
        made = self.client.must("PUT", f"/v1/schedules/{name}", wish)
        told = made["policies"]
        self.orders[name] = Order(
            name,
            [Era(fires, instant(made["created_at"]), 1)],
            timeout_seconds=told["timeout_seconds"],
            max_attempts=told["retry"]["max_attempts"],
            may_overlap=told["overlap"] == "allow",
            tolerance=self._tolerance,
        )

    # --- what they do meanwhile ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to change things, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is under way; everything that is paused is resumed."""
        self._stop.set()
        self._thread.join(PATIENCE_SECONDS * 3)
        assert not self._thread.is_alive(), "the callers did not come to an end"

    def _work(self) -> None:
        deeds = [self.pause_and_resume, self.pause_and_catch_up, self.retime, self.edit, self.replace, self.run_now]
        try:
            while not self._stop.is_set():
                self._chance.choice(deeds)()
                self._stop.wait(self._chance.uniform(0.2, 3))
        except Exception as error:  # told with everything else, at the end
            self.failures.append(f"a caller gave up: {error!r}")

    def pause_and_resume(self, missed: Any = None) -> None:
        """Nothing starts between the two."""
        order = self.orders[self._chance.choice(["moody-0", "moody-1"])]
        path = f"/v1/schedules/{order.schedule_id}"
        self.client.must("POST", f"{path}/pause", {"reason": "chaos"})
        returned = now()
        self._stop.wait(self._chance.uniform(0, 8))
        asked = now()
        resumed = self.client.must("POST", f"{path}/resume", {"missed": missed} if missed else {})
        order.quiet.append((returned, asked))
        since = instant(resumed["updated_at"])
        order.began_anew(order.eras[-1].trigger, since, catches_up=missed is not None)

    def pause_and_catch_up(self) -> None:
        """The newest three of those held back run after the resume."""
        self.pause_and_resume({"policy": "catch_up", "max": 3})

    def retime(self) -> None:
        """A changed trigger drops what the old one named and was not yet due."""
        order = self.orders["retimed-0"]
        seconds = 1 + len(order.eras) % 3
        changed = self.client.must("PATCH", f"/v1/schedules/{order.schedule_id}", self._interval(seconds))
        order.began_anew(Every(seconds), instant(changed["updated_at"]))

    def edit(self) -> None:
        """An edit that does not touch the trigger drops nothing."""
        patch = {"labels": {"edited": str(self._chance.getrandbits(16))}, "payload": self._chance.getrandbits(16)}
        self.client.must("PATCH", "/v1/schedules/edited-0", patch)

    def replace(self) -> None:
        """Delete a schedule, after which nothing of it starts, and order another."""
        doomed = next(order for name, order in reversed(self.orders.items()) if name.startswith("doomed-"))
        asked = now()
        status, _ = self.client.ask("DELETE", f"/v1/schedules/{doomed.schedule_id}")
        assert status in {204, 404}, status  # 404: an earlier try was carried out, and its answer lost
        doomed.ended = (asked, now())
        self._beats(f"doomed-{int(doomed.schedule_id.partition('-')[2]) + 1}", 1)

    def run_now(self) -> None:
        """A run on top of what the trigger names."""
        made = self.client.must("POST", "/v1/schedules/five-0/run", {"reason": "chaos"})
        self.manual.add(made["run_id"])
