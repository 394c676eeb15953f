"""AWS as moto plays it, with a role that lets everybody in, as on every emulator."""

from collections.abc import Iterator

import pytest

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.tenant_roles import TenantRoles, sts_client
from tests.support.moto import mocked_aws

ACCOUNT = "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/cronfleet-target-billing"


@pytest.fixture
def roles() -> Iterator[TenantRoles]:
    with mocked_aws():
        sts_client.cache_clear()
        yield TenantRoles(sts=sts_client, installation="prod", clock=SystemClock(), tries_trust=False)
    sts_client.cache_clear()
