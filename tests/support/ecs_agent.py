"""The agent of ECS as a task sees it: it answers on an address of its own, and notes what it is asked for."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

METADATA = {
    "LogDriver": "awslogs",
    "LogOptions": {"awslogs-group": "/g", "awslogs-region": "eu-west-1", "awslogs-stream": "worker/worker/1"},
}


class EcsAgent:
    """What it was asked for, in order; with `refuses` it grants nothing."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.refuses = False
        self.address = ""

    @property
    def wanted(self) -> list[bool]:
        """Whether protection was wanted, each time."""
        return [one["ProtectionEnabled"] for one in self.asked]

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if (method, path) == ("GET", "/metadata"):
            return 200, METADATA
        assert (method, path) == ("PUT", "/task-protection/v1/state")
        self.asked.append(json.loads(body))
        if self.refuses:
            return 400, {"error": {"Code": "AccessDeniedException"}}
        return 200, {"protection": {"ProtectionEnabled": self.asked[-1]["ProtectionEnabled"]}}


@contextmanager
def ecs_agent() -> Iterator[EcsAgent]:
    agent = EcsAgent()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            status, answer = agent.answer(self.command, self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = _serve  # noqa: N815 - so the base class calls them

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    agent.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield agent
    finally:
        server.shutdown()
        server.server_close()
