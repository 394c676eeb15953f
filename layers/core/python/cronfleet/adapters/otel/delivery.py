"""Delivery of spans: one POST of OTLP/HTTP as JSON, within a bounded time, signed where AWS wants that.

No retry: whoever hands spans over is at the end of its work, and a run does not wait for its picture. After a failure
nothing is sent for a while, so that an endpoint that hangs costs each process one time-out a minute and no more.
"""

import gzip
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeAlias

import urllib3
from urllib3.exceptions import HTTPError

CONNECT_SECONDS: Final = 0.5
TOTAL_SECONDS: Final = 1.5
REST_SECONDS: Final = 60.0
"""How long nothing is sent after a delivery that failed."""

RESTING: Final = "resting"
"""Why a delivery fails that is not tried, soon after one that was."""

WORTH_PACKING: Final = 2_048
"""Bytes from which a body is sent compressed."""

Sign: TypeAlias = Callable[[str, bytes, Mapping[str, str]], Mapping[str, str]]
"""The headers of a request with what signs it, by its URL, body and headers."""


class Failed(Exception):
    """A delivery that did not succeed; `why` is one word for a count."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Delivery:
    """Posts to `endpoint`, signed where `sign` is given."""

    def __init__(self, endpoint: str, sign: Sign | None = None) -> None:
        self._endpoint = endpoint
        self._sign = sign
        self._pool = urllib3.PoolManager(retries=False, num_pools=1)
        self._rests_until = 0.0

    def post(self, body: bytes) -> None:
        """Deliver `body`. Raises `Failed`, also without asking while a failure is fresh."""
        if time.monotonic() < self._rests_until:
            raise Failed(RESTING)
        try:
            with _within(TOTAL_SECONDS):
                self._post(body)
        except Failed:
            self._rests_until = time.monotonic() + REST_SECONDS
            raise

    def _post(self, body: bytes) -> None:
        headers = {"content-type": "application/json", "user-agent": "cronfleet"}
        if len(body) >= WORTH_PACKING:
            body, headers = gzip.compress(body, compresslevel=1), {**headers, "content-encoding": "gzip"}
        signed = headers if self._sign is None else self._sign(self._endpoint, body, headers)
        try:
            response = self._pool.urlopen(
                "POST",
                self._endpoint,
                body=body,
                headers=signed,
                redirect=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, total=TOTAL_SECONDS),
            )
        except (HTTPError, OSError) as error:
            raise Failed(type(error).__name__) from error
        if not 200 <= response.status < 300:
            raise Failed(f"http_{response.status}")


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise `Failed` in here after `seconds`, also where an endpoint answers byte by byte, each in time.

    By a signal, which only a process's main thread can have: there Lambda calls its handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_number: int, _frame: FrameType | None) -> None:
        raise Failed("timeout")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
