"""Clients as production has them."""

import os
from typing import Any
from unittest.mock import patch

from botocore.session import get_session

from cronfleet.adapters.aws import lean
from cronfleet.adapters.dynamodb.job_store import CONFIG as DYNAMODB_CONFIG
from cronfleet.adapters.sqs.run_queue import CONFIG as SQS_CONFIG
from local import surroundings


def dynamodb_client() -> Any:
    """The job store's, for what the environment says now."""
    return lean.client("dynamodb", get_session(), DYNAMODB_CONFIG)


def sqs_client() -> Any:
    """That of all who send, for what the environment says now."""
    return lean.client("sqs", get_session(), SQS_CONFIG)


def environment(endpoint: str, **more: str) -> Any:
    """While it lasts, the environment says that AWS is at `endpoint`, and nothing of the user's account."""
    said = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_REGION": surroundings.REGION,
        "AWS_DEFAULT_REGION": surroundings.REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return patch.dict(os.environ, {**said, **more})
