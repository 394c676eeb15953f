"""Fetching: small JSON documents of the identity provider, within limits."""

import ipaddress
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from cronfleet.ports.job_store import NoAnswer

CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 2
"""The gateway waits ten seconds for the authorizer, which may have to fetch two documents."""

MAX_BYTES: Final = 256 * 1024


def fetch(url: str) -> Mapping[str, Any]:
    """The JSON object at `url`, without redirects. Raises `NoAnswer` for whatever else comes, or nothing."""
    if not is_safe(url):
        raise NoAnswer(f"{url!r} is no https URL; keys are fetched over TLS only")
    pool = urllib3.PoolManager(timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS), retries=False)
    try:
        with pool.request("GET", url, redirect=False, preload_content=False) as response:
            content = response.read(MAX_BYTES + 1)
            status = response.status
    except (HTTPError, OSError) as error:
        raise NoAnswer(f"{url} gave no answer: {type(error).__name__}") from error
    finally:
        pool.clear()
    if status != 200 or len(content) > MAX_BYTES:
        raise NoAnswer(f"{url} answered {status} and {len(content)} bytes; 200 and at most {MAX_BYTES} are read")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"{url} answered with what is not JSON") from error
    if not isinstance(document, dict):
        raise NoAnswer(f"{url} answered with JSON that is no object")
    return document


def is_safe(url: str) -> bool:
    """Whether nobody on the way can put keys of his own in the place of the provider's."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(str(parts.hostname)))
    )


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
