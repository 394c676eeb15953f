"""A receiver of webhooks, which sees by a clock that nobody shifts when each attempt really reaches its target."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.ledger import SECOND, Row, instant

EARLY_BY_STORE = 3 * SECOND
"""By how much a run may start early by the store's clock, as promise 9 says."""


@dataclass(frozen=True)
class Delivery:
    """One POST: `at` is the receiver's time, `due_at` what the message says, both in milliseconds."""

    at: int
    due_at: int
    run_id: str
    attempt: int


class Receiver:
    """Listens on a free port of this machine until it is closed."""

    def __init__(self, now: Any) -> None:
        self.deliveries: list[Delivery] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                at = now()
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                delivery = Delivery(at, instant(body["timestamp"]), body["run_id"], body["attempt"])
                receiver.deliveries.append(delivery)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing: it would only be in the way."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def complaints(self, rows: Iterator[Row]) -> Iterator[str]:
        """What came early, or more than once, or is in the history of the called schedules and never came."""
        times = Counter((delivery.run_id, delivery.attempt) for delivery in self.deliveries)
        for delivery in self.deliveries:
            if delivery.at < delivery.due_at - EARLY_BY_STORE:
                yield f"{delivery.run_id} reached its target {delivery.due_at - delivery.at} ms before it was due"
        for (run_id, attempt), found in times.items():
            if found > 1:
                yield f"{run_id}: attempt {attempt} reached its target {found} times"
        for row in rows:
            if row["status"] == "succeeded" and (row["run_id"], row["attempts"][-1]["number"]) not in times:
                yield f"{row['run_id']} succeeded and never reached its target"
