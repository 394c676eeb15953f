"""Serves the dashboard's page and the metrics, to this machine alone; the front passes their paths on to it."""

import functools
import html
import json
import re
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from local import surroundings
from local.dashboard.prometheus import CONTENT_TYPE
from local.dashboard.recorder import Recorder
from local.dashboard.view import STEPS, View
from local.options import ROOT
from local.traces import page as traces
from local.traces.store import Store

PAGE: Final = Path(__file__).with_name("page")
CHARTS: Final = ROOT / "infra" / "node_modules" / "uplot" / "dist"
RUNBOOK: Final = ROOT / "docs" / "runbook.md"

FILES: Final = {
    "/dashboard": (PAGE / "index.html", "text/html; charset=utf-8"),
    "/dashboard/style.css": (PAGE / "style.css", "text/css; charset=utf-8"),
    "/dashboard/page.js": (PAGE / "page.js", "text/javascript; charset=utf-8"),
    "/dashboard/chart.js": (PAGE / "chart.js", "text/javascript; charset=utf-8"),
    "/dashboard/uplot.js": (CHARTS / "uPlot.esm.js", "text/javascript; charset=utf-8"),
    "/dashboard/uplot.css": (CHARTS / "uPlot.min.css", "text/css; charset=utf-8"),
}
"""Path → file and type. The charts' library comes with the CDK command, out of the same lock."""

POLICY: Final = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
FRESH_SECONDS: Final = 2
"""However many pages are open, the rows are made no more often."""

Content = tuple[HTTPStatus, str, bytes]


class Sight(ThreadingHTTPServer):
    """What a person, or Prometheus, may see of the running stack."""

    daemon_threads = True

    def __init__(self, recorder: Recorder, view: View, traces: Store) -> None:
        super().__init__((surroundings.HOST, 0), Look)
        self._traces = traces
        self._recorder = recorder
        self._view = view
        self._made: dict[int, tuple[float, bytes]] = {}
        self._making = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def open(self) -> None:
        """Serve, in a thread that ends with the process."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def content(self, target: str) -> Content:
        """The answer to a request for `target`."""
        asked = urlsplit(target)
        path = asked.path.rstrip("/")
        if path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE, self._recorder.totals.text()
        if path == "/dashboard/data":
            return HTTPStatus.OK, "application/json", self._data(parse_qs(asked.query).get("window", [""])[0])
        if path == "/dashboard/runbook":
            return HTTPStatus.OK, "text/html; charset=utf-8", section(parse_qs(asked.query).get("alarm", [""])[0])
        if path == "/traces" or path.startswith("/traces/"):
            return traces.content(self._traces, target)
        if path in FILES:
            return _file(*FILES[path])
        return HTTPStatus.NOT_FOUND, "text/plain", b"Not here: the page is at /dashboard, metrics at /metrics.\n"

    def _data(self, window: str) -> bytes:
        seconds = int(window) if window.isdecimal() and int(window) in STEPS else min(STEPS)
        with self._making:
            made_at, made = self._made.get(seconds, (0.0, b""))
            if time.monotonic() - made_at > FRESH_SECONDS or not made:
                made = json.dumps(self._view.at(time.time(), seconds)).encode()
                self._made[seconds] = time.monotonic(), made
            return made


class Look(BaseHTTPRequestHandler):
    """One request."""

    server: Sight
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with what is there."""
        status, kind, content = self.server.content(self.path)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_HEAD(self) -> None:
        """The same without its content."""
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        """Say nothing."""


def _file(path: Path, kind: str) -> Content:
    try:
        return HTTPStatus.OK, kind, path.read_bytes()
    except OSError:
        missing = f"{path} is not there: stop the stack and start it again with make run\n"
        return HTTPStatus.NOT_FOUND, "text/plain", missing.encode()


def section(alarm: str) -> bytes:
    """The runbook's section about an alarm, as a page that shows it as it is written."""
    text = _sections().get(alarm, "The runbook has no such section.")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(alarm)}</title>'
        '<link rel="stylesheet" href="/dashboard/style.css"><body class="runbook">'
        f"<p><a href='/dashboard'>Dashboard</a></p><h1>{html.escape(alarm)}</h1><pre>{html.escape(text)}</pre>"
    ).encode()


@functools.cache
def _sections() -> dict[str, str]:
    text = RUNBOOK.read_text() if RUNBOOK.exists() else ""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {name.strip(): body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
