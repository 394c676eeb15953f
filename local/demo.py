"""The demo tenant, its key, and a few schedules that show what the product does."""

import contextlib
import http.client
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from local import surroundings
from local.errors import StackError
from local.folder import Folder
from local.options import ROOT

TENANT: Final = "demo"
CORE: Final = ROOT / "layers" / "core" / "python"
REQUEST_SECONDS: Final = 35
MOST_TRIES: Final = 3
ONE_SHOT_AFTER: Final = timedelta(minutes=1)


class _Failed(StackError):
    """The API gave no answer, or one that says that the fault is its own."""


class Api:
    """The product's HTTP API, as any caller sees it."""

    def __init__(self, port: int, host: str, key: str) -> None:
        self._address = (host, port)
        self._key = key

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON; raises `StackError` for any status but a good one.

        A request that the API fails is made again: the process that had it may have died, or stand still until the
        emulator ends it, and the next request gets another. Each of ours may be made twice.
        """
        for _ in range(MOST_TRIES - 1):
            with contextlib.suppress(_Failed):
                return self._once(method, path, body)
        return self._once(method, path, body)

    def _once(self, method: str, path: str, body: Any) -> Any:
        connection = http.client.HTTPConnection(*self._address, timeout=REQUEST_SECONDS)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise _Failed(f"{method} {path} got no answer: {error!r}") from error
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            failed = _Failed if answer.status >= http.client.INTERNAL_SERVER_ERROR else StackError
            raise failed(f"{method} {path} answered {answer.status}: {content[:300].decode(errors='replace')}")
        return json.loads(content or b"null")


def put_key(endpoint: str, table_prefix: str, folder: Folder) -> str:
    """The key of the demo tenant, a platform admin's: made at the first start, kept in the state folder.

    By the command that an operator of an installation makes the first key with.
    """
    command = [sys.executable, "-m", "cronfleet.first_key", "--tenant", TENANT]
    command += ["--table-prefix", table_prefix, "--key-file", str(folder.key)]
    done = subprocess.run(
        command, cwd=CORE, env=surroundings.aws(endpoint), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise StackError(f"the demo tenant has no key: {(done.stderr or done.stdout).strip()[-300:]}")
    return folder.key.read_text().strip()


def register(api: Api) -> None:
    """Create or replace the demo schedules."""
    for schedule_id, definition in schedules(datetime.now(UTC)).items():
        api.call("PUT", f"/v1/schedules/{schedule_id}", definition)


def schedules(now: datetime) -> dict[str, dict[str, Any]]:
    """Each demo schedule by its id; only the one-shot depends on `now`."""
    in_a_minute = (now + ONE_SHOT_AFTER).replace(microsecond=0)
    return {
        "billing-nightly": {
            "description": "Every night at two in India, spread over a minute so that not all invoices start at once",
            "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
            "target": {"handler": "billing.nightly"},
            "payload": {"accounts": ["mumbai", "pune"]},
            "policies": {"jitter_seconds": 60, "misfire": {"policy": "fire_once", "grace_seconds": 3600}},
            "labels": {"team": "billing"},
        },
        "every-ten-seconds": {
            "description": "A short interval: watch its lag. After a stop it fires once for all it missed",
            "trigger": {"every": "10s"},
            "target": {"handler": "demo.heartbeat"},
            "policies": {"misfire": {"policy": "fire_once", "grace_seconds": 10}},
        },
        "fails-and-retries": {
            "description": "Fails twice and then succeeds; the history has every reason. One that is late is skipped",
            "trigger": {"every": "1m"},
            "target": {"handler": "demo.flaky"},
            "payload": {"failures": 2},
            "policies": {
                "misfire": {"policy": "skip", "grace_seconds": 10},
                "retry": {"max_attempts": 3, "backoff": {"kind": "fixed", "base_seconds": 5}},
            },
        },
        "once-in-a-minute": {
            "description": "One instant, a minute after the stack was started",
            "trigger": {"at": in_a_minute.isoformat().replace("+00:00", "Z")},
            "target": {"handler": "demo.heartbeat"},
        },
    }
