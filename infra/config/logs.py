"""How long logs are kept."""

from dataclasses import dataclass
from typing import Final

from infra.config.context import Context

DAYS: Final = {
    1: "ONE_DAY",
    3: "THREE_DAYS",
    5: "FIVE_DAYS",
    7: "ONE_WEEK",
    14: "TWO_WEEKS",
    30: "ONE_MONTH",
    60: "TWO_MONTHS",
    90: "THREE_MONTHS",
    120: "FOUR_MONTHS",
    150: "FIVE_MONTHS",
    180: "SIX_MONTHS",
    365: "ONE_YEAR",
    400: "THIRTEEN_MONTHS",
    545: "EIGHTEEN_MONTHS",
    731: "TWO_YEARS",
    1096: "THREE_YEARS",
    1827: "FIVE_YEARS",
    3653: "TEN_YEARS",
}
"""What CloudWatch Logs offers, and the CDK's word for it."""

DEFAULT_DAYS: Final = 30
DEFAULT_ACCESS_DAYS: Final = 90
LOCAL_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Logs:
    """Days that logs of functions are kept, and the access logs of the API."""

    retention_days: int
    access_retention_days: int


def logs_of(context: Context, *, local: bool) -> Logs:
    """The choices under `logs`."""
    return Logs(
        retention_days=_days(context, "logs.retention_days", LOCAL_DAYS if local else DEFAULT_DAYS),
        access_retention_days=_days(
            context, "logs.access_retention_days", LOCAL_DAYS if local else DEFAULT_ACCESS_DAYS
        ),
    )


def _days(context: Context, key: str, default: int) -> int:
    found = context.number(key, default, min(DAYS), max(DAYS))
    if found not in DAYS:
        context.refuse(key, found, f"one of {', '.join(map(str, DAYS))}, which is what CloudWatch Logs offers")
    return found
