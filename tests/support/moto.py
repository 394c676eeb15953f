"""moto, in process, with one lock around its DynamoDB.

moto does not make a conditional write atomic: of eight threads racing for one claim, up to seven win. DynamoDB
answers one request for an item at a time, and so does this.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler

from cronfleet import bootstrap
from tests.support.guard import guarded

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
}

_lock = threading.RLock()
_unlocked = DynamoHandler.call_action


def _locked(handler: DynamoHandler) -> Any:
    with _lock:
        return _unlocked(handler)


@contextmanager
def mocked_aws() -> Iterator[None]:
    """AWS as moto plays it, empty. A function may do there what its role allows."""
    left_out = {name: "" for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE") if name in os.environ}
    with patch.dict(os.environ, {**ENVIRONMENT, **left_out}):
        for name in left_out:
            del os.environ[name]
        bootstrap.aws_session.cache_clear()
        try:
            with patch.object(DynamoHandler, "call_action", _locked), mock_aws(), guarded():
                yield
        finally:
            bootstrap.aws_session.cache_clear()
