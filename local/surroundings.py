"""The environment of every process of the stack: nothing of the user's AWS account may reach it."""

import os
from typing import Final

HOST: Final = "127.0.0.1"
REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
"""The account that the emulator gives to whoever signs with the key `test`."""

LEFT_OUT: Final = ("AWS_", "CRONFLEET_", "LAMBDA_", "LOCALSTACK_", "MINISTACK_", "POWERTOOLS_", "PYTHON")
"""Functions inherit what the emulator has; and no account, profile or path of the user's may reach any part."""


def base() -> dict[str, str]:
    """The user's environment (how to reach the network, certificates, language) without what is in `LEFT_OUT`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    around = ",".join(filter(None, (kept.get("NO_PROXY") or kept.get("no_proxy"), HOST, "localhost")))
    return {**kept, "NO_PROXY": around, "no_proxy": around, "PYTHONUNBUFFERED": "1"}


def aws(endpoint: str) -> dict[str, str]:
    """`base`, and every AWS tool pointed to the emulator at `endpoint` and to nothing else."""
    return {
        **base(),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
