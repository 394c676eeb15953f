"""A function loads what it uses and nothing else: each import below happens in a process of its own."""

import subprocess
import sys

import pytest

ADAPTERS = "cronfleet.adapters"


def loaded(module: str) -> set[str]:
    code = f"import sys, {module}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        (f"{ADAPTERS}.dynamodb.job_store", {"pydantic", "aws_lambda_powertools", f"{ADAPTERS}.sqs.queues"}),
        (f"{ADAPTERS}.sqs.run_queue", {"pydantic", "pynamodb", "croniter", f"{ADAPTERS}.dynamodb.schema"}),
        (f"{ADAPTERS}.sqs.tick_queue", {"pydantic", "pynamodb", "croniter"}),
        (f"{ADAPTERS}.sqs.messages", {"boto3", "botocore", "pynamodb"}),
        (f"{ADAPTERS}.cloudwatch.telemetry", {"boto3", "aws_xray_sdk", "pydantic"}),
        (f"{ADAPTERS}.memory.job_store", {"boto3", "botocore", "pynamodb", "pydantic"}),
        (f"{ADAPTERS}.memory.queues", {"boto3", "botocore", "pynamodb", "pydantic"}),
        (f"{ADAPTERS}.system.clock", {"boto3", "botocore", "random", "uuid"}),
    ],
)
def test_an_adapter_loads_no_library_that_it_does_not_use(module: str, unwanted: set[str]) -> None:
    assert loaded(module) & unwanted == set()


def test_whoever_has_a_key_does_not_wait_for_what_checks_tokens() -> None:
    code = """
import os, sys
os.environ.update({"CRONFLEET_TABLE_PREFIX": "x", "CRONFLEET_OIDC_ISSUER": "https://id.example.com",
    "CRONFLEET_OIDC_AUDIENCE": "x", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x"})
from functions.authorizer import handler
handler._service()
print(" ".join(sys.modules))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"jwt", "cryptography", "pydantic", "aws_lambda_powertools"} & set(found) == set()
