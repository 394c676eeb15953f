"""A collector of spans, as an installation may have one: takes OTLP/HTTP as JSON and keeps it."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collector(ThreadingHTTPServer):
    """Takes what is posted, and answers `status`."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.status = status
        self.taken: list[tuple[dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [
            {**span, "service": value_of(one["resource"]["attributes"], "service.name")}
            for _, body in self.taken
            for one in body["resourceSpans"]
            for scope in one["scopeSpans"]
            for span in scope["spans"]
        ]


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.taken.append((dict(self.headers.items()), json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


def value_of(attributes: list[dict[str, Any]], name: str) -> Any:
    return next(next(iter(one["value"].values())) for one in attributes if one["key"] == name)


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    with Collector(status) as collector:
        thread = threading.Thread(target=collector.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()
