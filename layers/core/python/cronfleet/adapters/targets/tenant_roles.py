"""Tenant roles: sessions of the roles that tenants lend, and the clients that act in them.

A session belongs to one tenant, one role and one resource, and is never used for another: its policy allows nothing
else, and the key under which it is kept names all three. Before a role is first used it is tried with an external id
that is nobody's. A role that lets that in would let any tenant in that names it, and is refused: its owner has left
the condition out.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.target import RoleTarget
from cronfleet.domain.target_role import (
    SESSION_SECONDS,
    external_id,
    fault_of,
    place_of,
    resource_of,
    session_name,
    session_policy,
)
from cronfleet.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_sts import STSClient

RENEWED_BEFORE: Final = 5 * MINUTE
"""So long before it ends a session is used no more."""

MAX_SESSIONS: Final = 256
"""Sessions, and refusals, that one process keeps; past that the oldest goes."""

REFUSED_FOR: Final = 10 * SECOND
"""So long a refusal is not asked about again: a tenant whose role is wrong must not use up what STS takes of us all."""

FOREIGN_TENANT: Final = ".nobody"
"""No tenant's id begins with a dot: the external id made of it is nobody's."""

CONFIG: Final = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})
"""Twice 13 seconds, and as much for a session before that: a worker has a minute to hand something over."""

HELP: Final = "see GET /v1/target-role for the trust policy that it needs"


class RoleRefused(Exception):
    """The role must not be used, or does not let this installation in. `is_for_good`: no retry can mend it."""

    def __init__(self, text: str, *, is_for_good: bool) -> None:
        super().__init__(text)
        self.is_for_good = is_for_good


class RoleUnavailable(Exception):
    """STS did not answer."""


@functools.cache
def sts_client() -> "STSClient":
    """The client of this process itself, which asks for sessions."""
    return boto3.client("sts", config=CONFIG)


@dataclass(frozen=True, slots=True)
class _Session:
    client: Any
    until: Instant


_Key: TypeAlias = tuple[str, str, str, str]


class TenantRoles:
    """Lends out clients that act as tenants' roles. `sts` is called when the first one is needed."""

    def __init__(
        self, *, sts: "Callable[[], STSClient]", installation: str, clock: Clock, tries_trust: bool = True
    ) -> None:
        """`installation` names this one in external ids; `tries_trust` is off only where trust is not enforced."""
        self._sts = sts
        self._installation = installation
        self._clock = clock
        self._tries_trust = tries_trust
        self._sessions: dict[_Key, _Session] = {}
        self._refused: dict[_Key, tuple[RoleRefused, Instant]] = {}
        self._tried: dict[str, Instant] = {}

    def client(self, service: str, target: RoleTarget, *, tenant: str, run_id: str) -> Any:
        """A client of `service` that acts as the target's role, on behalf of `tenant`, on the target alone.

        Raises `RoleRefused` and `RoleUnavailable`.
        """
        if not self._installation:
            raise RoleRefused("this installation has no name, and so no external id", is_for_good=True)
        fault = fault_of(target)
        if fault is not None:
            raise RoleRefused(fault, is_for_good=True)
        # The policy is part of the key: two tasks of one definition may be in two clusters.
        policy = session_policy(target)
        key = (tenant, target.role, service, resource_of(target) + policy)
        kept = self._sessions.get(key)
        if kept is not None and self._clock.now() < kept.until:
            return kept.client
        refused, until = self._refused.get(key, (None, 0))
        if refused is not None and self._clock.now() < until:
            raise refused
        try:
            self._try_trust(target.role)
            session = self._open(service, target, policy, tenant, run_id)
        except RoleRefused as error:
            _keep(self._refused, key, (error, self._clock.now() + REFUSED_FOR))
            raise
        _keep(self._sessions, key, session)
        return session.client

    def _open(self, service: str, target: RoleTarget, policy: str, tenant: str, run_id: str) -> _Session:
        try:
            answer = self._sts().assume_role(
                RoleArn=target.role,
                RoleSessionName=session_name(run_id),
                ExternalId=external_id(self._installation, tenant),
                Policy=policy,
                DurationSeconds=SESSION_SECONDS,
            )
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown error")
            raise RoleRefused(f"the role {target.role} lets nobody in: {code}; {HELP}", is_for_good=False) from error
        except BotoCoreError as error:
            raise RoleUnavailable(f"STS did not answer: {type(error).__name__}") from error
        found = answer["Credentials"]
        client = boto3.client(  # type: ignore[call-overload]  # the service is named by the caller
            service,
            region_name=place_of(target).region,
            aws_access_key_id=found["AccessKeyId"],
            aws_secret_access_key=found["SecretAccessKey"],
            aws_session_token=found["SessionToken"],
            config=CONFIG,
        )
        return _Session(client, int(found["Expiration"].timestamp() * 1_000) - RENEWED_BEFORE)

    def _try_trust(self, role: str) -> None:
        """Refuse a role that asks for no external id, or not for a tenant's own. Tried once a session's length."""
        if not self._tries_trust or self._tried.get(role, 0) > self._clock.now():
            return
        try:
            self._sts().assume_role(
                RoleArn=role,
                RoleSessionName="cronfleet-trust",
                ExternalId=external_id(self._installation, FOREIGN_TENANT),
                DurationSeconds=900,
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") not in ("AccessDenied", "AccessDeniedException"):
                raise RoleUnavailable(f"STS did not say whether {role} asks for an external id") from error
        except BotoCoreError as error:
            raise RoleUnavailable(f"STS did not answer: {type(error).__name__}") from error
        else:
            text = f"the role {role} lets this installation in on behalf of anybody: its trust policy asks for no"
            raise RoleRefused(f"{text} sts:ExternalId of yours; {HELP}", is_for_good=False)
        _keep(self._tried, role, self._clock.now() + SESSION_SECONDS * SECOND)


def _keep(kept: dict[Any, Any], key: Any, value: Any) -> None:
    """Keep a value, and let the oldest go where there are too many."""
    kept.pop(key, None)
    if len(kept) >= MAX_SESSIONS:
        del kept[next(iter(kept))]
    kept[key] = value
