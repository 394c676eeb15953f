"""Webhooks: an HTTPS POST, signed as Standard Webhooks asks (github.com/standard-webhooks, version 1.0.0).

The request is made in a child process: name resolution, a slow handshake, an answer that comes byte by byte all end
at the attempt's deadline. A name is resolved once per hop, and the connection goes to the very address that was
checked, so that a name which answers differently the second time gains nothing. What each answer means stands in
docs/targets.md.
"""

import binascii
import functools
import ipaddress
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

import urllib3
from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NewConnectionError,
    SSLError,
)

from cronfleet.adapters.targets.addresses import Address, is_allowed, may_reach, networks
from cronfleet.adapters.targets.child import Channel, Request, Work, run_in_child
from cronfleet.adapters.targets.log_tail import LogTail
from cronfleet.adapters.targets.secrets import SecretRefused, Secrets, SecretUnavailable
from cronfleet.domain.attempt import Result
from cronfleet.domain.envelope import envelope
from cronfleet.domain.instant import SECOND, to_datetime
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome
from cronfleet.domain.target import WebhookTarget
from cronfleet.domain.target_role import run_digest
from cronfleet.domain.trace import TRACEPARENT
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Call, FenceLost, Interrupted, Pulse

MAX_REDIRECTS: Final = 3
MAX_ADDRESSES: Final = 3
"""Addresses of one name that are tried before the attempt fails."""

CONNECT_SECONDS: Final = 10.0
MAX_ANSWER_BYTES: Final = 4096
"""How much of a failed answer's body is read, to be kept; a success's body is not read at all."""

MAX_SHOWN_CHARACTERS: Final = 200

FOLLOWED: Final = frozenset({307, 308})
"""Redirects that keep the method and the body. Others would turn the POST into a GET, which delivers nothing."""

PERMANENT: Final = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 451})
"""The receiver judged the request itself, or (410) wants no more: the same request would be refused again.

401, 403 and 404 are not among them: keys are rotated and receivers deployed while a run waits for its next attempt.
"""

Resolve = Callable[[str, int], Sequence[Address]]


class Forbidden(Exception):
    """The URL leads where a webhook may not go; a retry cannot mend it."""


@dataclass(frozen=True, slots=True)
class _Message:
    """What is sent, the same on every hop."""

    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    location: str | None
    body: str
    """The beginning of it, of an answer that is no success."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The first words of the body, for the error's text."""
        return " ".join(_printable(self.body).split())[:MAX_SHOWN_CHARACTERS]


def resolve(host: str, port: int) -> Sequence[Address]:
    """The addresses of `host`, in the order in which the system prefers them. Raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A scope (fe80::1%eth0) is dropped: no address that has one may be reached.
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class Webhooks:
    """Delivers runs to URLs. `ca_file` replaces the certificates that are trusted, for tests."""

    def __init__(
        self,
        *,
        secrets: Secrets,
        clock: Clock,
        allowed_networks: Sequence[str] = (),
        resolve: Resolve = resolve,
        ca_file: str | None = None,
    ) -> None:
        self._secrets = secrets
        self._clock = clock
        self._allowed = networks(allowed_networks)
        self._resolve = resolve
        self._ca_file = ca_file

    def call(self, call: Call, target: WebhookTarget, pulse: Pulse) -> Result:
        """Deliver once: POST, follow what must be followed, judge the answer.

        Of an answer that is no success the status and the beginning of its body are kept.
        """
        try:
            message = self._message(call, target)
        except SecretRefused as error:
            return Result(Outcome.FAILED, str(error), retryable=False)
        except SecretUnavailable as error:
            return Result(Outcome.FAILED, str(error))
        self._tls()  # Made before the fork, once for all deliveries of this process.
        seconds = (call.deadline_at - self._clock.now()) / SECOND
        tail = LogTail()
        try:
            return self._attend(partial(self._work, target.url, message, tail), seconds, pulse, tail)
        finally:
            tail.close()

    def _attend(self, work: Work, seconds: float, pulse: Pulse, tail: LogTail) -> Result:
        def look() -> Result | None:
            pulse.look()
            if pulse.cancel is None:
                return None
            return Result(Outcome.CANCELLED, "given up: its cancellation was asked for; what was sent may arrive")

        try:
            return run_in_child(work, seconds, _no_answer, look)
        except FenceLost:
            return Result(Outcome.FAILED, "given up: its lease was over and another attempt has the run")
        except Interrupted as interrupted:
            return Result(Outcome.INTERRUPTED, f"given up: {interrupted}; what was sent may arrive")
        finally:
            lines, is_whole = tail.read()
            if lines:
                pulse.log(lines, is_whole=is_whole)

    def post(self, url: str, body: str, *, tenant: str, secret: str | None, webhook_id: str, seconds: float) -> Result:
        """Deliver a body that is about no run, by the same rules. Raises `SecretRefused` and `SecretUnavailable`."""
        message = self._signed(body, webhook_id, tenant, secret, {})
        self._tls()
        tail = LogTail()
        try:
            return run_in_child(partial(self._work, url, message, tail), seconds, _no_answer)
        finally:
            tail.close()

    # --- the message ---------------------------------------------------------------------------------------

    def _message(self, call: Call, target: WebhookTarget) -> _Message:
        body = envelope(call.key, call.attempt, call.due_at, call.payload)
        # The same id for every attempt of a run. A hash: what is signed must hold no `.`, which schedule ids may.
        about = {"cronfleet-run-id": call.key.run_id, "cronfleet-attempt": str(call.attempt)}
        if call.traceparent:
            about[TRACEPARENT] = call.traceparent
        return self._signed(body, run_digest(call.key.run_id), call.key.tenant, target.secret, about)

    def _signed(
        self, body: str, webhook_id: str, tenant: str, secret: str | None, about: Mapping[str, str]
    ) -> _Message:
        now = self._clock.now()
        headers = {
            "content-type": "application/json",
            "user-agent": "cronfleet",
            "webhook-id": webhook_id,
            "webhook-timestamp": str(now // SECOND),
            **about,
        }
        if secret is not None:
            keys = self._keys(tenant, secret)
            signatures = [key.sign(webhook_id, to_datetime(now - now % SECOND), body) for key in keys]
            headers["webhook-signature"] = " ".join(signatures)
        return _Message(body.encode(), headers)

    def _keys(self, tenant: str, secret: str) -> list[Webhook]:
        """The signing keys: one, or while it is rotated the new and the old, parted by white space."""
        try:
            return [Webhook(key) for key in self._secrets.read(tenant, secret).split()]
        except (binascii.Error, ValueError, EmptyWebhookSecretError):
            # Not chained: the cause's text could show a piece of the key.
            raise SecretUnavailable(
                f"the secret {secret!r} is not a signing key; it should read whsec_ and the key in base64"
            ) from None

    # --- in the child --------------------------------------------------------------------------------------

    def _work(self, url: str, message: _Message, tail: LogTail, _channel: Channel) -> Result:
        try:
            return self._deliver(url, message, tail)
        except (Forbidden, LocationValueError) as error:
            return _failed(str(error), retryable=False)
        except SSLError as error:
            return _failed(f"TLS: {error}")
        except (HTTPError, OSError) as error:
            return _failed(f"{type(error).__name__}: {error}")

    def _deliver(self, url: str, message: _Message, tail: LogTail) -> Result:
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._post(url, message)
            if reply.status not in FOLLOWED or reply.location is None:
                self._keep(reply, tail)
                return _judge(reply)
            url = _followed(url, reply.location)
        return _failed(f"more than {MAX_REDIRECTS} redirects, the last to {url}")

    def _keep(self, reply: _Reply, tail: LogTail) -> None:
        if reply.is_success:
            return
        now = self._clock.now()
        tail.add(now, "ERROR", f"HTTP {reply.status}")
        for line in reply.body.splitlines():
            if line.strip():
                tail.add(now, "ERROR", _printable(line))

    def _post(self, url: str, message: _Message) -> _Reply:
        parts = _split(url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = self._reachable(parts, host, port)
        headers = {**message.headers, "host": parts.netloc}
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        for address in addresses[:-1]:
            try:
                return self._send(address, port, parts, path, message.body, headers)
            except (NewConnectionError, ConnectTimeoutError):
                continue  # Nothing was sent: the name's next address may be up.
        return self._send(addresses[-1], port, parts, path, message.body, headers)

    def _reachable(self, parts: SplitResult, host: str, port: int) -> Sequence[Address]:
        """The addresses of the URL's host that may be reached. Raises `Forbidden` when there is none."""
        found = self._resolve(host, port)
        reachable = [address for address in found if may_reach(address, self._allowed)]
        if parts.scheme == "http":
            reachable = [address for address in reachable if is_allowed(address, self._allowed)]
            if found and not reachable:
                raise Forbidden(f"{parts.scheme}://{parts.netloc} is not encrypted; write an https URL")
        if not reachable:
            shown = ", ".join(map(str, found)) or "no address"
            raise Forbidden(
                f"{host} is {shown}: webhooks reach public addresses, and networks that the installation allows"
            )
        return reachable[:MAX_ADDRESSES]

    def _send(
        self,
        address: Address,
        port: int,
        parts: SplitResult,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> _Reply:
        """One POST to one address; the certificate must be that of the URL's host."""
        with self._pool(address, port, parts) as pool:
            response = pool.urlopen(
                "POST",
                path,
                body=body,
                headers=headers,
                redirect=False,
                retries=False,
                assert_same_host=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=None),
                preload_content=False,
            )
            text = "" if 200 <= response.status < 300 else _beginning(response)
            return _Reply(response.status, response.headers.get("location"), text)

    def _pool(self, address: Address, port: int, parts: SplitResult) -> urllib3.HTTPConnectionPool:
        where = f"[{address}]" if address.version == 6 else str(address)
        if parts.scheme == "http":
            return urllib3.HTTPConnectionPool(where, port)
        return urllib3.HTTPSConnectionPool(
            where,
            port,
            ssl_context=self._tls(),
            server_hostname=parts.hostname,
            assert_hostname=parts.hostname,
        )

    def _tls(self) -> ssl.SSLContext:
        return _context(self._ca_file)


@functools.cache
def _context(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)


def _no_answer(_request: Request) -> Request:
    return {}


def _failed(error: str, *, retryable: bool = True) -> Result:
    return Result(Outcome.FAILED, " ".join(error.split())[:MAX_ERROR_CHARACTERS], retryable)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise Forbidden(f"{url!r} is not a URL: {error}") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise Forbidden(f"{url!r} is not an https URL")
    if parts.username is not None or parts.password is not None:
        raise Forbidden("the URL holds a user name or a password; use a signing secret instead")
    return parts


def _followed(url: str, location: str) -> str:
    target = urljoin(url, location)
    if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
        raise Forbidden(f"redirected from https to {target!r}, which is not encrypted")
    return target


def _judge(reply: _Reply) -> Result:
    if reply.is_success:
        return Result(Outcome.SUCCEEDED)
    said = f": {reply.text}" if reply.text else ""
    return _failed(f"HTTP {reply.status}{said}", retryable=reply.status not in PERMANENT)


def _beginning(response: urllib3.BaseHTTPResponse) -> str:
    """The beginning of an answer's body."""
    try:
        data = response.read1(MAX_ANSWER_BYTES)
    except (HTTPError, OSError):
        return ""
    return data.decode("utf-8", "replace")


def _printable(characters: Iterable[str]) -> str:
    return "".join(one if one.isprintable() else " " for one in characters)
