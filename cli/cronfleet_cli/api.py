"""The API over HTTP: one request with its repetitions, and lists page by page."""

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final
from urllib.parse import quote

import httpx

from cronfleet_cli.errors import NoAnswer, Refused
from cronfleet_cli.profiles import Connection

TIMEOUT_SECONDS: Final = 35.0
"""A little longer than the gateway waits for the API."""

HASTY_SECONDS: Final = 2.0
MAX_TRIES: Final = 5
MAX_WAIT_SECONDS: Final = 60.0
"""A longer `Retry-After` is not waited for: the refusal is shown."""

FIRST_WAIT_SECONDS: Final = 0.5
BUSY: Final = frozenset({429, 503})
"""Nothing has been done: the same may be asked again."""

UNKNOWN: Final = frozenset({500, 502, 504})
"""Something may have been done: only what can be repeated is asked again."""

PAGE: Final = 100
MAX_PAGES: Final = 1_000

_TENANTS: Final = "/v1/tenants"

Query = Mapping[str, Any]


class Repeat(Enum):
    """Whether a POST may be sent again when its answer was lost."""

    BY_KEY = auto()
    """It carries an Idempotency-Key, so that it is done once."""

    AS_IS = auto()
    """Done twice it is as done once; the server reads no key."""

    NEVER = auto()
    """Its answer holds a secret that nobody keeps."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: JSON as `data` (text where it is none, None where there is nothing)."""

    status: int
    etag: str
    data: Any


def at(*parts: str) -> str:
    """The path of a resource, each part quoted: `at("schedules", "a/b")` is `/v1/schedules/a%2Fb`."""
    return "/v1/" + "/".join(quote(part, safe="~:") for part in parts)


class Api:
    """One installation. Without `patient` it asks once and waits two seconds: a shell that completes has no more."""

    def __init__(self, connection: Connection, *, once: str | None = None, patient: bool = True) -> None:
        self.connection = connection
        self._once = once
        self._posts = 0
        self._tries = MAX_TRIES if patient else 1
        headers = {
            "Authorization": f"Bearer {connection.key}",
            "User-Agent": "cronfleet-cli",
            "Accept": "application/json",
        }
        # Redirects are not followed: they would carry the key elsewhere.
        timeout = TIMEOUT_SECONDS if patient else HASTY_SECONDS
        # Without TLS there is no certificate to judge, and no store of them to load.
        is_tls = connection.url.startswith("https://")
        self._http = httpx.Client(base_url=connection.url, headers=headers, timeout=timeout, verify=is_tls)

    def wait(self, seconds: float) -> None:
        """Wait before the same is asked again."""
        time.sleep(seconds)

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def get(self, path: str, query: Query | None = None) -> Any:
        """The JSON at `path`; what is None or empty in `query` is left out."""
        return self.ask("GET", path, query=query).data

    def post(self, path: str, body: Any = None, query: Query | None = None, *, repeat: Repeat = Repeat.BY_KEY) -> Any:
        """The answer to a POST."""
        return self.ask("POST", path, query=query, body={} if body is None else body, repeat=repeat).data

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content: tuple[bytes, str] | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: Repeat = Repeat.BY_KEY,
    ) -> Answer:
        """The answer to one request, asked again while the server is busy or silent and asking again is safe.

        `content` is a body that is no JSON, with its type. Raises `Refused` and `NoAnswer`.
        """
        sent = dict(headers or {})
        # Where the path names a tenant, it alone says whose.
        if self.connection.tenant and not path.startswith(_TENANTS):
            sent["Cronfleet-Tenant"] = self.connection.tenant
        if method == "POST" and repeat is Repeat.BY_KEY:
            sent["Idempotency-Key"] = self._next_key()
        if content is not None:
            sent["Content-Type"] = content[1]
        request = self._http.build_request(
            method,
            path,
            params=_query(query or {}),
            json=body if content is None else None,
            content=None if content is None else content[0],
            headers=sent,
        )
        return _answer_of(self._sent(request, repeatable=method != "POST" or repeat is not Repeat.NEVER))

    def _next_key(self) -> str:
        """A key for each POST of a command; of a command that was given one, the same ones when it is asked again."""
        self._posts += 1
        if self._once is None:
            self._once = secrets.token_hex(16)
        return self._once if self._posts == 1 else f"{self._once}-{self._posts}"

    def _sent(self, request: httpx.Request, *, repeatable: bool) -> httpx.Response:
        for count in range(1, self._tries + 1):
            is_last = count == self._tries
            try:
                response = self._http.send(request)
            except httpx.HTTPError as error:
                never_left = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if is_last or not (repeatable or never_left):
                    raise NoAnswer(_silence(request, error, count)) from error
                self.wait(_backoff(count))
                continue
            wait = _wait(response, count, repeatable=repeatable)
            if wait is None or is_last:
                return response
            self.wait(wait)
        raise AssertionError("the last try returns or raises")

    def pages(self, path: str, query: Query, most: int) -> Iterator[dict[str, Any]]:
        """The answers of a list page by page, until it ends or holds `most` items in all (asked for by `limit`)."""
        cursor, left = None, most
        for _ in range(MAX_PAGES):
            page = self.get(path, {**query, "limit": min(left, PAGE), "cursor": cursor})
            yield page
            left -= _size(page)
            cursor = page.get("cursor")
            if cursor is None or left <= 0:
                return

    def listed(self, path: str, name: str, query: Query | None = None, most: int = PAGE) -> dict[str, Any]:
        """The pages of a list as one answer of the same form: all items under `name`, and the last page's cursor."""
        whole: dict[str, Any] = {}
        for page in self.pages(path, query or {}, most):
            items = [*whole.get(name, ()), *page.get(name, ())]
            whole = {**page, name: items}
        return whole


def _size(page: Mapping[str, Any]) -> int:
    return next((len(value) for value in page.values() if isinstance(value, list)), 0)


def _query(query: Query) -> dict[str, str]:
    return {name: _text(value) for name, value in query.items() if value is not None and value not in ("", [], ())}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _wait(response: httpx.Response, count: int, *, repeatable: bool) -> float | None:
    """How long to wait before asking again; None where the answer stands."""
    if response.status_code not in BUSY and not (repeatable and response.status_code in UNKNOWN):
        return None
    named = response.headers.get("Retry-After", "")
    wait = float(named) if named.isdecimal() else _backoff(count)
    return wait if wait <= MAX_WAIT_SECONDS else None


def _backoff(count: int) -> float:
    return FIRST_WAIT_SECONDS * float(2 ** (count - 1))


def _silence(request: httpx.Request, error: httpx.HTTPError, count: int) -> str:
    tries = "once" if count == 1 else f"{count} times"
    reason = str(error) or type(error).__name__
    return f"{request.url.scheme}://{request.url.netloc.decode()} gives no answer ({reason}), asked {tries}"


def _answer_of(response: httpx.Response) -> Answer:
    data: Any = response.text or None
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
    if data is not None and (kind == "application/json" or kind.endswith("+json")):
        try:
            data = json.loads(response.text)
        except ValueError as error:
            raise NoAnswer(f"{response.request.url} answered {response.status_code} with broken JSON") from error
    if response.is_success:
        return Answer(response.status_code, response.headers.get("ETag", ""), data)
    raise Refused(response.status_code, _problem(response, data))


def _problem(response: httpx.Response, data: Any) -> Mapping[str, Any]:
    """The problem of a refusal; what a gateway or a proxy says by itself is brought into its form."""
    if isinstance(data, dict) and "title" in data:
        return data
    said = data.get("message") if isinstance(data, dict) else None
    title = str(said or response.reason_phrase or "The server refused")
    return {"title": title, "status": response.status_code, "detail": "", "errors": []}
