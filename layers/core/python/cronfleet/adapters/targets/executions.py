"""Executions of every kind behind one port."""

from typing import Protocol, assert_never

from cronfleet.adapters.targets.ecs_task import EcsTasks
from cronfleet.adapters.targets.refusals import failed
from cronfleet.adapters.targets.step_functions import StepFunctions
from cronfleet.adapters.targets.tenant_roles import RoleRefused, RoleUnavailable, TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.follow import Seen
from cronfleet.domain.target import EcsTaskTarget, FollowedTarget, StepFunctionsTarget
from cronfleet.ports.executions import Unseen
from cronfleet.ports.target import Call


class Kind(Protocol):
    """One kind of followed target. Its methods raise `Unseen`, and what `TenantRoles.client` raises."""

    def handle(self, call: Call) -> str: ...

    def start(self, call: Call) -> str | Result: ...

    def look(self, call: Call, handle: str) -> Seen: ...

    def stop(self, call: Call, handle: str, why: str) -> None: ...


class AllExecutions:
    """Implements `Executions`: each kind by its own adapter."""

    def __init__(self, roles: TenantRoles) -> None:
        self._step_functions = StepFunctions(roles)
        self._ecs_tasks = EcsTasks(roles)

    def _kind(self, call: Call) -> Kind:
        target = call.target
        if not isinstance(target, FollowedTarget):
            raise TypeError(f"{type(target).__name__} does not go on by itself")
        match target:
            case StepFunctionsTarget():
                return self._step_functions
            case EcsTaskTarget():
                return self._ecs_tasks
        assert_never(target)

    def handle(self, call: Call) -> str:
        """See `Executions.handle`."""
        return self._kind(call).handle(call)

    def start(self, call: Call) -> str | Result:
        """See `Executions.start`."""
        try:
            return self._kind(call).start(call)
        except RoleRefused as error:
            return failed(str(error), retryable=not error.is_for_good)
        except RoleUnavailable as error:
            raise Unseen(str(error)) from error

    def look(self, call: Call, handle: str) -> Seen:
        """See `Executions.look`."""
        try:
            return self._kind(call).look(call, handle)
        except (RoleRefused, RoleUnavailable) as error:
            raise Unseen(str(error)) from error

    def stop(self, call: Call, handle: str, why: str) -> None:
        """See `Executions.stop`."""
        try:
            self._kind(call).stop(call, handle, why)
        except (RoleRefused, RoleUnavailable) as error:
            raise Unseen(str(error)) from error
