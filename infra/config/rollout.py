"""How a new version of the functions takes over: little by little, or at once."""

from dataclasses import dataclass

from infra.config.context import Context


@dataclass(frozen=True, slots=True)
class Rollout:
    """`is_gradual`: CodeDeploy shifts each function's alias, and takes it back on an alarm. Else it goes at once."""

    is_gradual: bool


def rollout_of(context: Context, *, local: bool) -> Rollout:
    """The choice under `rollout`."""
    is_gradual = context.flag("rollout.gradual", default=not local)
    if is_gradual and local:
        context.refuse("rollout.gradual", "true", "false, or leave it out: the emulator has no CodeDeploy")
    return Rollout(is_gradual)
