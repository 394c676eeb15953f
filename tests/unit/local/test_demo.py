"""The demo data: put there through the API, as any caller would."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from local.demo import MOST_TRIES, Api
from local.errors import StackError


@contextmanager
def answering(*statuses: int) -> Iterator[tuple[Api, list[str]]]:
    """An API that gives these answers, one after the other, and what it was asked."""
    left, asked = list(statuses), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            content = json.dumps({"answer": len(asked)}).encode()
            self.send_response(left.pop(0))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield Api(server.server_address[1], "127.0.0.1", "key"), asked
        server.shutdown()


def test_a_request_under_which_a_process_of_the_api_died_or_stood_still_is_made_again() -> None:
    """A stack that goes on with a living emulator may find it with a function that answers nobody."""
    with answering(504, 200) as (api, asked):
        assert api.call("GET", "/v1/health") == {"answer": 2}
    assert asked == ["/v1/health"] * 2


def test_an_api_that_keeps_failing_is_an_error_with_its_last_words() -> None:
    with answering(*[502] * MOST_TRIES) as (api, asked), pytest.raises(StackError, match=r"answered 502: .*answer"):
        api.call("GET", "/v1/health")
    assert len(asked) == MOST_TRIES


def test_a_refusal_is_not_asked_for_again() -> None:
    with answering(400) as (api, asked), pytest.raises(StackError, match="answered 400"):
        api.call("GET", "/v1/health")
    assert len(asked) == 1
