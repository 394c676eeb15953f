"""The front: one address for everything. Passes each request on to the HTTP API as it came, and the answer back.

Runs as a process of its own (`python -m local.front`) on a socket that the supervisor opened, so that callers
wait a moment instead of being refused while a killed front is replaced. Bounded as the real gateway is:
the size of a body, the time for an answer, the number of requests at a time.
"""

import argparse
import contextlib
import http.client
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Final

MAX_BODY_BYTES: Final = 10 * 1024 * 1024
"""What an HTTP API takes (API Gateway quotas for HTTP APIs)."""

ANSWER_SECONDS: Final = 30
"""How long an HTTP API waits for its integration; the same source."""

IDLE_SECONDS: Final = 75
MAX_REQUESTS_AT_A_TIME: Final = 64
MAX_CHUNKS: Final = 100_000
CHUNK_LINE_BYTES: Final = 1024
MAX_HEAD_BYTES: Final = 10_240
"""Request line and header fields together, as an HTTP API bounds them (the same quotas)."""

LINGER_SECONDS: Final = 2
LINGER_BYTES: Final = 8 * MAX_BODY_BYTES
"""How much of a refused request is still taken in, so that its caller gets to read the refusal."""

# They speak of one connection, not of the request (RFC 9110, 7.6.1); a body is passed on whole, so with a length.
HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "expect", "content-length", "host"}
)

# The grammar of RFC 9110 and 9112: a method (all of ours are in capitals), a target, a length, a chunk's size.
_METHOD: Final = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]{1,32}")
_TARGET: Final = re.compile(r"[\x21-\x7e]*")
_LENGTH: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_CHUNK_SIZE: Final = re.compile(rb"[0-9A-Fa-f]{1,15}")
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


SIGHT: Final = re.compile(r"/(metrics|dashboard|traces)(?=[/?]|$)")
"""Paths that are no part of the API: the dashboard's page and what it asks for, the metrics, and the traces."""


class Refused(Exception):
    """A request that the front answers itself, with `status`, the part that is wrong and a sentence."""

    def __init__(self, status: HTTPStatus, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.status = status
        self.field = field
        self.reason = reason


class Front(ThreadingHTTPServer):
    """Serves an open socket and hands requests to `upstream` below `prefix`."""

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, listener: socket.socket, upstream: tuple[str, int], prefix: str, sight: tuple[str, int] | None = None
    ) -> None:
        super().__init__(listener.getsockname(), Exchange, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.upstream = upstream
        self.prefix = prefix
        self._sight = sight
        self._slots = threading.BoundedSemaphore(MAX_REQUESTS_AT_A_TIME)

    def behind(self, path: str) -> tuple[tuple[str, int], str]:
        """Who answers for `path`, and what is put before it: the API, or the dashboard and the metrics."""
        if self._sight is not None and SIGHT.match(path):
            return self._sight, ""
        return self.upstream, self.prefix

    @contextlib.contextmanager
    def slot(self) -> Iterator[None]:
        """One of the requests that may be under way at a time."""
        if not self._slots.acquire(blocking=False):
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE, "connections", "too many requests at a time: try again in a moment"
            )
        try:
            yield
        finally:
            self._slots.release()


class Exchange(BaseHTTPRequestHandler):
    """One connection of a caller: requests in, answers out, one after the other."""

    server: Front
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    # An answer is written in two parts; held back, the second would wait for the caller's acknowledgement.
    disable_nagle_algorithm = True

    def __getattr__(self, name: str) -> object:
        """Every method is passed on: `do_GET`, `do_PATCH` and the rest are the same."""
        if name.startswith("do_"):
            return self._pass_on
        raise AttributeError(name)

    def _pass_on(self) -> None:
        try:
            self._check_request_line()
            self._check_headers()
            body = self._body()
            with self.server.slot():
                self._exchange(body)
        except Refused as refused:
            self.close_connection = True
            self._problem(refused.status, refused.field, refused.reason)

    def _exchange(self, body: bytes) -> None:
        upstream, prefix = self.server.behind(self.path)
        connection = http.client.HTTPConnection(*upstream, timeout=ANSWER_SECONDS)
        try:
            answer, content = self._ask(connection, prefix, body)
        except TimeoutError:
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, "upstream", f"no answer within {ANSWER_SECONDS} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Refused(
                HTTPStatus.BAD_GATEWAY, "upstream", f"what is behind it could not be reached: {error!r}"
            ) from error
        finally:
            connection.close()
        self._answer(answer.status, answer.reason, answer.getheaders(), content)

    def _ask(
        self, connection: http.client.HTTPConnection, prefix: str, body: bytes
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection.putrequest(self.command, prefix + self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self._headers_to_pass_on():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer, answer.read()

    def _check_request_line(self) -> None:
        if not _METHOD.fullmatch(self.command):
            raise Refused(HTTPStatus.BAD_REQUEST, "method", f"{self.command[:32]!r} is none; write GET, in capitals")
        # Only a path is passed on, as it was written: `GET http://other/` must not leave this machine.
        if not self.path.startswith("/"):
            raise Refused(HTTPStatus.BAD_REQUEST, "path", "must be a path, such as /v1/schedules")
        if not _TARGET.fullmatch(self.path):
            raise Refused(
                HTTPStatus.BAD_REQUEST,
                "path",
                "may hold only visible ASCII; percent-encode the rest as UTF-8 (é: %C3%A9)",
            )

    def _check_headers(self) -> None:
        # After a line that is none, the parser takes all further headers for text: they would be lost without a word.
        if self.headers.defects or not all(_FIELD_VALUE.fullmatch(value) for value in self.headers.values()):
            raise Refused(
                HTTPStatus.BAD_REQUEST, "headers", "must be lines of `Name: value`, without control characters"
            )
        size = len(self.requestline) + sum(len(name) + len(value) for name, value in self.headers.items())
        if size > MAX_HEAD_BYTES:
            raise Refused(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers",
                f"have {size} bytes with the request line; {MAX_HEAD_BYTES} are allowed",
            )

    def _headers_to_pass_on(self) -> list[tuple[str, str]]:
        host, port = self.server.upstream
        named = {part.strip().lower() for part in (self.headers.get("Connection") or "").split(",")}
        kept = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP | named]
        # The address as the caller wrote it, for answers that name it.
        own = [("X-Forwarded-For", self.client_address[0]), ("X-Forwarded-Proto", "http")]
        if self.headers.get("Host"):
            own.append(("X-Forwarded-Host", self.headers["Host"]))
        replaced = {name.lower() for name, _ in own[1:]}
        return [("Host", f"{host}:{port}"), *own, *(one for one in kept if one[0].lower() not in replaced)]

    def _body(self) -> bytes:
        lengths, codings = self.headers.get_all("Content-Length", []), self.headers.get_all("Transfer-Encoding", [])
        # Whoever reads such a request otherwise would find another request in its body (RFC 9112, 6.3).
        if len(lengths) + len(codings) > 1:
            raise Refused(
                HTTPStatus.BAD_REQUEST, "Content-Length", "must stand there once, and not with Transfer-Encoding"
            )
        if codings:
            return self._body_in_chunks(codings[0])
        length = lengths[0].strip() if lengths else "0"
        if not _LENGTH.fullmatch(length):
            raise Refused(
                HTTPStatus.BAD_REQUEST, "Content-Length", f"is {length[:32]!r}; write the body's number of bytes"
            )
        _require_room(int(length))
        return _exactly(self.rfile, int(length))

    def _body_in_chunks(self, coding: str) -> bytes:
        if coding.strip().lower() != "chunked":
            raise Refused(HTTPStatus.BAD_REQUEST, "Transfer-Encoding", f"is {coding[:32]!r}; only chunked is read")
        return _chunked(self.rfile)

    def _answer(self, status: int, reason: str, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status, reason)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if self.command != "HEAD" and status not in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _problem(self, status: HTTPStatus, field: str, reason: str) -> None:
        problem = {
            "type": "about:blank",
            "title": status.phrase,
            "status": status.value,
            "detail": f"{field}: {reason}",
            "errors": [{"field": field, "reason": reason}],
        }
        headers = [("Content-Type", "application/problem+json"), ("Connection", "close")]
        with contextlib.suppress(OSError):
            self.send_response_only(status.value, status.phrase)
            for name, value in headers:
                self.send_header(name, value)
            content = json.dumps(problem).encode()
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
            self._linger()

    def _linger(self) -> None:
        """Take in what the caller is still sending: a close before that would reset the connection, and the answer
        would be lost (RFC 9112, 9.6).
        """
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(LINGER_SECONDS)
        until = time.monotonic() + LINGER_SECONDS
        taken = 0
        while taken < LINGER_BYTES and time.monotonic() < until:
            content = self.connection.recv(65_536)
            if not content:
                return
            taken += len(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses (no HTTP, lines too long), in the form of every other problem."""
        self.close_connection = True
        # What is not HTTP is taken for version 0.9, whose answers have no status line.
        self.request_version = self.protocol_version
        self._problem(HTTPStatus(code), "request", message or explain or HTTPStatus(code).description)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        """Say nothing: the API writes its own access log."""


def _chunked(stream: BufferedIOBase) -> bytes:
    """A body in chunks (RFC 9112, 7.1), put together; trailers are dropped."""
    body = bytearray()
    for _ in range(MAX_CHUNKS):
        size = stream.readline(CHUNK_LINE_BYTES).split(b";")[0].strip()
        if not _CHUNK_SIZE.fullmatch(size):
            raise _not_chunked()
        length = int(size, 16)
        _require_room(len(body) + length)
        body += _exactly(stream, length)
        if length == 0:
            _drop_trailers(stream)
            return bytes(body)
        if stream.readline(CHUNK_LINE_BYTES).strip():
            raise _not_chunked()
    raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body", f"has more than {MAX_CHUNKS} chunks")


def _not_chunked() -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, "body", "is not in chunks, though Transfer-Encoding says so")


def _drop_trailers(stream: BufferedIOBase) -> None:
    for _ in range(MAX_CHUNKS):
        if stream.readline(CHUNK_LINE_BYTES).strip() == b"":
            return


def _exactly(stream: BufferedIOBase, length: int) -> bytes:
    content = stream.read(length)
    if len(content) != length:
        raise Refused(HTTPStatus.BAD_REQUEST, "body", f"ended after {len(content)} of {length} bytes")
    return content


def _require_room(length: int) -> None:
    if length > MAX_BODY_BYTES:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body", f"may have at most {MAX_BODY_BYTES} bytes")


def main() -> None:
    """Serve the inherited socket until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m local.front")
    parser.add_argument("--socket", type=int, required=True, help="number of the inherited listening socket")
    parser.add_argument("--upstream-host", required=True)
    parser.add_argument("--upstream-port", type=int, required=True)
    parser.add_argument("--prefix", required=True, help="put before each path")
    parser.add_argument("--sight-port", type=int, required=True, help="where the dashboard and the metrics are")
    chosen = parser.parse_args()
    listener = socket.socket(fileno=chosen.socket)
    sight = (chosen.upstream_host, chosen.sight_port)
    front = Front(listener, (chosen.upstream_host, chosen.upstream_port), chosen.prefix, sight)
    # In a thread of its own: `shutdown` waits for the loop that this handler has interrupted.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=front.shutdown).start())
    front.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
