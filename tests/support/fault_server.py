"""An AWS on this machine that answers as it is told, or does not, and keeps what it was asked."""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zlib import crc32

JSON = "application/x-amz-json-1.0"


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        return self.headers["x-amz-target"].rpartition(".")[2]


Act: TypeAlias = Callable[[Asked, socket.socket], bool]
"""Answers on the connection, or not; whether that stays open."""


def reply(status: int = 200, body: Any = b"{}", cut: int = 0, **headers: str) -> Act:
    """An answer; `cut` bytes of its end are missing, and the connection is closed in their place."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"Content-Type": JSON, "Content-Length": str(len(content)), "x-amzn-RequestId": "r-1"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in told.items()), "", ""]
    whole = "\r\n".join(lines).encode() + content

    def act(_: Asked, connection: socket.socket) -> bool:
        connection.sendall(whole[: len(whole) - cut])
        return not cut

    return act


def whole(body: Any) -> Act:
    """An answer with the checksum that DynamoDB sends along."""
    content = json.dumps(body).encode()
    return reply(200, content, x_amz_crc32=str(crc32(content)))


def refusal(status: int, code: str, message: str = "no", **fields: Any) -> Act:
    """What a service refuses with."""
    return reply(status, {"__type": f"com.amazonaws.some.v1#{code}", "message": message, **fields})


def hang_up(_: Asked, __: socket.socket) -> bool:
    """The connection is closed without a word."""
    return False


def echo(asked: Asked, connection: socket.socket) -> bool:
    """Who asks hears what it said."""
    return reply(200, {"Echo": json.loads(asked.body)})(asked, connection)


@dataclass
class FaultServer:
    """Acts by its script, and once that is over as `otherwise`."""

    script: deque[Act] = field(default_factory=deque)
    otherwise: Act = field(default_factory=reply)
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    silent: threading.Event = field(default_factory=threading.Event)
    """What `be_silent` waits for."""

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def begin(self, *acts: Act, otherwise: Act | None = None) -> None:
        """Forget what was, and act by this."""
        with self._lock:
            self.script, self.otherwise = deque(acts), otherwise or reply()
            self.asked.clear()
            self.connections = 0

    def be_silent(self, _: Asked, __: socket.socket) -> bool:
        """No answer, on a connection that stays open until the server closes."""
        self.silent.wait()
        return False

    def drop_all(self) -> None:
        """Close every connection, as a server does with those that were idle for long."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def running(self) -> Iterator["FaultServer"]:
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self.silent.set()
            self._listening.close()
            self.drop_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with self._lock:
                    self.connections += 1
                    self._open.append(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while (asked := _read(stream)) is not None:
                with self._lock:
                    self.asked.append(asked)
                    act = self.script.popleft() if self.script else self.otherwise
                if not act(asked, connection):
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                    return


def _read(stream: Any) -> Asked | None:
    line = stream.readline().decode().strip()
    if not line:
        return None
    headers: dict[str, str] = {}
    while text := stream.readline().decode().strip():
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    return Asked(line, headers, stream.read(int(headers.get("content-length", "0"))))
