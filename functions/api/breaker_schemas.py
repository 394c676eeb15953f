"""Breaker schemas: what callers may send of a breaker."""

from .schemas import Reason, Strict, shown


class CloseBody(Strict):
    """Why a breaker is closed."""

    model_config = shown({"reason": "the provider says that it is mended"})

    reason: Reason = ""
