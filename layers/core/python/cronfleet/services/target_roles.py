"""Target roles: what a tenant's role must say so that targets of the tenant, and of nobody else, are called as it."""

from collections.abc import Sequence
from typing import Final

from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.schedule import Status
from cronfleet.domain.target import RoleTarget
from cronfleet.domain.target_role import external_id, permissions, trust_policy
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of

ROLE_NAME: Final = "cronfleet-target-*"


class TargetRoles:
    """The service behind /v1/target-role."""

    def __init__(self, *, store: JobStore, installation: str, callers: Sequence[str]) -> None:
        self._store = store
        self._installation = installation
        self._callers = callers

    def describe(self, caller: Caller, schedule_id: str | None = None) -> Form:
        """The trust policy for roles of the caller's tenant; with a schedule also what its target needs permitted.

        Raises `Conflict` where the installation has no name, `NotFound` and `Invalid` about the schedule.
        """
        if not self._installation or not self._callers:
            raise Conflict("this installation assumes no roles: it was deployed without a name and its workers' roles")
        external = external_id(self._installation, caller.tenant.tenant_id)
        return {
            "external_id": external,
            "callers": list(self._callers),
            "role_name": ROLE_NAME,
            "trust_policy": trust_policy(self._callers, external),
            "permissions": None if schedule_id is None else permissions(self._target(caller, schedule_id)),
        }

    def _target(self, caller: Caller, schedule_id: str) -> RoleTarget:
        tenant = caller.tenant.tenant_id
        timer = answer_of(lambda: self._store.get_timer(tenant, schedule_id))
        if timer is None or timer.status is Status.CANCELLED:
            raise NotFound("schedule", schedule_id)
        definition = answer_of(lambda: self._store.get_definition(tenant, schedule_id, timer.version))
        if definition is None:
            raise NotFound("schedule", schedule_id)
        target = definition.spec.target
        if not isinstance(target, RoleTarget):
            raise Invalid("schedule", "calls nothing as a role: its target is a handler, a webhook or a function")
        return target
