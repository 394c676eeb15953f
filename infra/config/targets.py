"""As whom targets of tenants are called: this installation's name in the external ids that their roles ask for."""

from typing import Final

from cronfleet.domain.target_role import INSTALLATION
from infra.config.context import Context

KEY: Final = "installation"


def installation_of(context: Context, prefix: str) -> str:
    """The choice under `installation`: the prefix, unless one is given. To change it locks every tenant's role."""
    name = context.text(KEY) or prefix
    if INSTALLATION.fullmatch(name) is None:
        context.refuse(KEY, name, "at most 64 small letters, digits and hyphens, a letter first")
    return name
