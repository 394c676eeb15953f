"""The front passes requests on as they came, and refuses by itself what the real gateway would."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from local import front
from local.front import Front

PREFIX = "/_aws/execute-api/abc/$default"


class Upstream(ThreadingHTTPServer):
    """Notes what arrives and answers 200, or what `answer` says."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), UpstreamExchange)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer: tuple[int, dict[str, str], bytes] = (200, {"Content-Type": "application/json"}, b'{"ok": true}')


class UpstreamExchange(BaseHTTPRequestHandler):
    server: Upstream

    def __getattr__(self, name: str):
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        status, fields, content = self.server.answer
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _front_before(port: int) -> Front:
    listener = socket.create_server(("127.0.0.1", 0))
    server = Front(listener, ("127.0.0.1", port), PREFIX)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


@pytest.fixture
def address(upstream: Upstream) -> Iterator[tuple[str, int]]:
    server = _front_before(upstream.server_port)
    yield "127.0.0.1", server.server_address[1]
    server.shutdown()
    server.server_close()


def _ask(address, method, target, body=None, headers=None, **options):
    connection = http.client.HTTPConnection(*address, timeout=10)
    try:
        connection.request(method, target, body, headers or {}, **options)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def _raw(address, request: bytes) -> tuple[bytes, bytes]:
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request)
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    ("path", "is_ours"),
    [("/metrics", True), ("/metrics?x", True), ("/dashboard", True), ("/dashboard/data?window=900", True)]
    + [(path, False) for path in ("/v1/health", "/metricsx", "/v1/metrics", "/dashboards", "/")],
)
def test_the_dashboard_and_the_metrics_are_not_the_apis(upstream, path, is_ours):
    server = Front(socket.create_server(("127.0.0.1", 0)), ("127.0.0.1", 1), PREFIX, ("127.0.0.1", 2))
    server.server_close()
    assert server.behind(path) == ((("127.0.0.1", 2), "") if is_ours else (("127.0.0.1", 1), PREFIX))


def test_path_and_query_arrive_byte_for_byte_below_the_prefix(address, upstream):
    target = "/v1//schedules/a%2Fb%20c?cursor=a+b%20c&&x=%C3%A9&empty=&y"
    _ask(address, "GET", target)
    assert upstream.requests[0][1] == PREFIX + target


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_is_passed_on_with_its_body_and_headers(address, upstream, method):
    headers = {"Authorization": "Bearer cf_a_b", "If-Match": '"3"', "X-Own": "1"}
    answer, content = _ask(address, method, "/v1/schedules", b'{"id": "\xc3\xa9"}', headers)
    arrived_method, _, arrived, body = upstream.requests[0]
    assert (arrived_method, body) == (method, b'{"id": "\xc3\xa9"}')
    assert (arrived["authorization"], arrived["if-match"], arrived["x-own"]) == ("Bearer cf_a_b", '"3"', "1")
    assert (answer.status, content) == (200, b'{"ok": true}')


def test_status_and_headers_of_the_answer_come_back(address, upstream):
    upstream.answer = (404, {"Content-Type": "application/problem+json", "ETag": '"7"'}, b"{}")
    answer, content = _ask(address, "GET", "/v1/none")
    assert (answer.status, answer.headers["ETag"], answer.headers["Content-Type"], content) == (
        404,
        '"7"',
        "application/problem+json",
        b"{}",
    )


def test_headers_that_speak_of_the_connection_are_not_passed_on(address, upstream):
    _ask(address, "GET", "/", headers={"Connection": "keep-alive, X-Hop", "X-Hop": "1", "TE": "trailers"})
    assert not {"x-hop", "te", "keep-alive"} & set(upstream.requests[0][2])


def test_a_chunked_body_arrives_whole(address, upstream):
    _ask(address, "POST", "/v1/schedules", iter([b'{"a"', b": 1}"]), encode_chunked=True)
    assert upstream.requests[0][3] == b'{"a": 1}'


def test_two_requests_can_follow_each_other_on_one_connection(address, upstream):
    connection = http.client.HTTPConnection(*address, timeout=10)
    for number in range(2):
        connection.request("GET", f"/{number}")
        assert connection.getresponse().read() == b'{"ok": true}'
    connection.close()
    assert [request[1] for request in upstream.requests] == [f"{PREFIX}/0", f"{PREFIX}/1"]


def test_an_answer_without_a_body_stays_without_one(address, upstream):
    upstream.answer = (204, {}, b"")
    answer, content = _ask(address, "DELETE", "/v1/schedules/a")
    assert (answer.status, content, answer.headers["Content-Length"]) == (204, b"", None)


def test_an_upstream_that_is_gone_is_a_502_with_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    server = _front_before(port)
    answer, content = _ask(("127.0.0.1", server.server_address[1]), "GET", "/v1/schedules")
    server.shutdown()
    server.server_close()
    problem = json.loads(content)
    assert (answer.status, answer.headers["Content-Type"]) == (502, "application/problem+json")
    assert (problem["status"], problem["title"]) == (502, "Bad Gateway")


def test_a_body_larger_than_the_gateway_takes_is_refused_before_it_is_read(address, upstream):
    head, body = _raw(address, b"POST /v1/schedules HTTP/1.1\r\nHost: x\r\nContent-Length: 10485761\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert "at most" in json.loads(body)["detail"]
    assert upstream.requests == []


POST = b"POST /v1/schedules HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status", "field"),
    [
        (b"GET http://elsewhere.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"400", "path"),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", b"400", "path"),
        (b"GET /v1/schedules/\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400", "path"),
        ("GET /v1/schedules?prefix=é HTTP/1.1\r\nHost: x\r\n\r\n".encode(), b"400", "path"),
        (b"GET /v1/sche\x01dules HTTP/1.1\r\nHost: x\r\n\r\n", b"400", "path"),
        (b"get /v1/schedules HTTP/1.1\r\nHost: x\r\n\r\n", b"400", "method"),
        ("GÉT / HTTP/1.1\r\nHost: x\r\n\r\n".encode(), b"400", "method"),
        (b"GET / HTTP/1.1\r\nno colon\r\nAuthorization: Bearer cf_a_b\r\n\r\n", b"400", "headers"),
        (b"GET / HTTP/1.1\r\nAuthorization : Bearer cf_a_b\r\n\r\n", b"400", "headers"),
        (b"GET / HTTP/1.1\r\nX: a\r\n  folded\r\n\r\n", b"400", "headers"),
        (b"GET / HTTP/1.1\r\nX: a\x00b\r\n\r\n", b"400", "headers"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 10_240 + b"\r\n\r\n", b"431", "headers"),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 150 + b"\r\n", b"431", "request"),
        (POST + b"Content-Length: many\r\n\r\n", b"400", "Content-Length"),
        (POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n", b"400", "Content-Length"),
        (POST + b"Content-Length: -2\r\n\r\n{}", b"400", "Content-Length"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", b"400", "Content-Length"),
        (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400", "Content-Length"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"400", "Transfer-Encoding"),
        (POST + b"Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"400", "Transfer-Encoding"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"400", "body"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", b"400", "body"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n", b"400", "body"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{} }\r\n0\r\n\r\n", b"400", "body"),
        (b"nonsense\r\n\r\n", b"400", "request"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414", "request"),
    ],
)
def test_what_is_no_proper_request_is_answered_with_a_problem_that_names_the_part_and_is_not_passed_on(
    address, upstream, request_bytes, status, field
):
    head, body = _raw(address, request_bytes)
    problem = json.loads(body)
    assert head.split()[1] == status
    assert (problem["status"], [error["field"] for error in problem["errors"]]) == (int(status), [field])
    assert upstream.requests == []


def test_whoever_is_still_sending_gets_to_read_the_refusal(address):
    """Closing at once reset the connection: the caller saw a broken pipe and never the 413."""
    answer, content = _ask(address, "POST", "/v1/schedules", b"x" * (front.MAX_BODY_BYTES + 1))
    assert (answer.status, json.loads(content)["errors"][0]["field"]) == (413, "body")


def test_more_requests_at_a_time_than_the_front_takes_are_told_to_come_again(upstream, monkeypatch):
    monkeypatch.setattr(front, "MAX_REQUESTS_AT_A_TIME", 1)
    server = _front_before(upstream.server_port)
    with server.slot():
        answer, _ = _ask(("127.0.0.1", server.server_address[1]), "GET", "/")
    again, _ = _ask(("127.0.0.1", server.server_address[1]), "GET", "/")
    server.shutdown()
    server.server_close()
    assert (answer.status, again.status) == (503, 200)
