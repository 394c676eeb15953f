"""Takes spans in, as a collector does: OTLP/HTTP as JSON, from the functions of this stack alone."""

import json
import threading
import zlib
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from local import surroundings
from local.emulator import free_port, is_free
from local.folder import Folder
from local.traces.store import Store

PATH: Final = "/v1/traces"
MAX_BODY_BYTES: Final = 8 * 1024 * 1024
MAX_PACKED: Final = 50
"""How many times its size a compressed body may grow to."""

WAIT_SECONDS: Final = 10


def claim_port(folder: Folder) -> int:
    """The folder's port for spans; a new free one where another program took that."""
    old = int(folder.traces_port.read_text()) if folder.traces_port.exists() else None
    if old is not None and is_free(old):
        return old
    new = free_port()
    folder.traces_port.write_text(str(new))
    return new


class Receiver(ThreadingHTTPServer):
    """Listens on the folder's port for as long as the process lives."""

    daemon_threads = True

    def __init__(self, folder: Folder) -> None:
        super().__init__((surroundings.HOST, claim_port(folder)), Taking)
        self.store = Store(folder.traces)

    def open(self) -> None:
        """Serve, in a thread that ends with the process."""
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Taking(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver
    protocol_version = "HTTP/1.1"
    timeout = WAIT_SECONDS

    def do_POST(self) -> None:
        """Take in what was sent."""
        status, said = self._taken()
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _taken(self) -> tuple[HTTPStatus, dict[str, object]]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"message": f"at most {MAX_BODY_BYTES} bytes, and say how many"}
        body = self.rfile.read(int(length))
        if self.path != PATH:
            return HTTPStatus.NOT_FOUND, {"message": f"spans go to {PATH}"}
        try:
            self.server.store.take(json.loads(self._unpacked(body)))
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error, OSError, EOFError) as error:
            return HTTPStatus.BAD_REQUEST, {"message": f"no request of OTLP in JSON: {error!r:.200}"}
        return HTTPStatus.OK, {}

    def _unpacked(self, body: bytes) -> bytes:
        if self.headers.get("Content-Encoding") != "gzip":
            return body
        opened = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        return opened.decompress(body, MAX_PACKED * max(len(body), 1_000))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        """Say nothing."""
