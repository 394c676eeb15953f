"""An AWS that gives the same answers to everybody: what is left of a benchmark is the client's own work.

`Network` puts the answers where the socket would be: everything above it (signing, HTTP, connections, JSON) runs as it
always does, and what answering costs is counted apart. `Server` gives them over real sockets, from another process.
"""

import io
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias
from unittest.mock import patch
from zlib import crc32

import urllib3

Answers: TypeAlias = Callable[[str, bytes], bytes]
"""The body of an answer, by the operation and the body of a request."""

_END: Final = b"\r\n\r\n"
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: 4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG\r\nx-amz-crc32: %d\r\n\r\n"
)
_READ_BYTES: Final = 1 << 18


class _Stream:
    """One connection's bytes, cut into requests."""

    def __init__(self) -> None:
        self._bytes = b""

    def requests(self, more: bytes) -> Iterator[tuple[str, bytes]]:
        """Operation and body of each request that is whole with `more`."""
        self._bytes += more
        while _END in self._bytes:
            head, _, rest = self._bytes.partition(_END)
            length = int(_header(head, b"content-length"))
            if len(rest) < length:
                return
            self._bytes = rest[length:]
            yield _header(head, b"x-amz-target").rpartition(b".")[2].decode(), rest[:length]


def _header(head: bytes, name: bytes) -> bytes:
    start = head.lower().index(b"\r\n" + name + b":") + len(name) + 3
    return head[start:].partition(b"\r\n")[0].strip()


def _whole(body: bytes) -> bytes:
    return _HEAD % (len(body), crc32(body)) + body


class Network:
    """Answers in this process. `asked` counts operations, `cpu` the seconds that answering them took."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.cpu = 0.0

    @contextmanager
    def instead_of_sockets(self) -> Iterator[None]:
        """While it lasts, whoever connects by urllib3 is connected here."""
        with patch.object(urllib3.connection.HTTPConnection, "_new_conn", lambda _: _Socket(self)):
            yield

    def answer(self, stream: _Stream, sent: bytes) -> bytes:
        """What comes back for `sent`; nothing before a request is whole."""
        begin = time.thread_time()
        found = [(operation, _whole(self._answers(operation, body))) for operation, body in stream.requests(sent)]
        with self._lock:
            self.asked.update(operation for operation, _ in found)
            self.cpu += time.thread_time() - begin
        return b"".join(answer for _, answer in found)


class _Socket:
    """The part of a socket that HTTP clients use; what they poll is a real one on which nothing ever comes."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._stream = _Stream()
        self._answer = b""
        self._idle = socket.socketpair()

    def sendall(self, sent: bytes) -> None:
        self._answer += self._network.answer(self._stream, sent)

    def makefile(self, *_: Any) -> io.BytesIO:
        whole, self._answer = self._answer, b""
        return io.BytesIO(whole)

    def fileno(self) -> int:
        return self._idle[0].fileno()

    def settimeout(self, _: float | None) -> None: ...

    def setsockopt(self, *_: Any) -> None: ...

    def close(self) -> None:
        for one in self._idle:
            one.close()


class Server:
    """Answers on a port of this machine, from a process of its own, which ends with the context."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    @contextmanager
    def running(self) -> Iterator[str]:
        """The address."""
        child = os.fork()
        if not child:
            self._serve()
        try:
            yield self.url
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self._listening.close()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = _Stream()
        with suppress(OSError):
            while sent := connection.recv(_READ_BYTES):
                for operation, body in stream.requests(sent):
                    connection.sendall(_whole(self._answers(operation, body)))
