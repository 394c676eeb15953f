"""A sample of a job that matters: what it does must happen once, however often it is tried."""

import time
from datetime import date, timedelta
from typing import Any

from cronfleet.sdk import Context, Permanent, handler


@handler("billing.nightly")
def nightly(context: Context, payload: Any) -> None:
    """Bill each account for the day before the run's nominal time.

    Payload: `{"accounts": ["a", "b"], "seconds_per_account": 0}`; without accounts, one called `demo` is billed.
    A receipt per account carries the work over from attempt to attempt: one that was killed half way through leaves
    its receipts, and the next bills only those that have none.
    """
    accounts, pause = _read(payload)
    day = (context.nominal_at - timedelta(days=1)).date()
    for account in accounts:
        receipt = context.receipt(f"invoice-{account}", {"day": day.isoformat(), "attempt": context.attempt})
        if receipt.first:
            _bill(context, account, day)
        else:
            context.logger.info("billed before", extra={"account": account, "by_attempt": receipt.value["attempt"]})
        time.sleep(pause)


def _read(payload: Any) -> tuple[list[str], float]:
    fields = payload if isinstance(payload, dict) else {}
    accounts = fields.get("accounts", ["demo"])
    if not isinstance(accounts, list) or not all(isinstance(account, str) for account in accounts):
        # The payload stays what it is for every attempt, so a retry cannot mend it.
        raise Permanent("payload.accounts must be a list of account names")
    return accounts, float(fields.get("seconds_per_account", 0))


def _bill(context: Context, account: str, day: date) -> None:
    """Where a real job calls the billing system, with the run id and the account as its idempotency key."""
    context.logger.info("billed", extra={"account": account, "day": day.isoformat()})
