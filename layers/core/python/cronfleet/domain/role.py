"""Roles: what a credential may do. Each may everything that those below it may."""

from enum import StrEnum


class Role(StrEnum):
    """From the least to the most; docs/identity.md says what each may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    EDITOR = "editor"
    TENANT_ADMIN = "tenant_admin"
    PLATFORM_ADMIN = "platform_admin"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Role).index(self)

    def allows(self, needed: "Role") -> bool:
        """Whether this role may do what `needed` is asked for."""
        return self.rank >= needed.rank
