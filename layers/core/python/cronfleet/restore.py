"""An installation's tables as they were at an earlier second, from the command line of whoever has AWS rights to them.

    python -m cronfleet.restore --to 2026-12-01T08:15:00Z --table-prefix cronfleet-prod --into cronfleet-prod-r1

Restores every table beside the one that is there, and changes none of these. Before: drain. After: purge the queues and
deploy with `tables.prefix`. docs/restore.md goes through all of it, and says what becomes of fires in between. Region
and credentials are boto3's.
"""

import argparse
import sys
from datetime import UTC, datetime

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet import bootstrap
from cronfleet.domain.instant import Instant, floor_second, from_datetime


def main(arguments: list[str] | None = None) -> int:
    """The command: 0 when every table is there and ready for work, 1 with one line of why not."""
    options = _parse(arguments)
    try:
        restoring = bootstrap.restoring(options.table_prefix, options.into)
        restoring.begin_all(options.to)
        for name in restoring.wait_until_ready():
            print(f"{name} is there")
        restoring.protect(recovery_days=options.recovery_days)
        shards = restoring.begin_anew()
    except (ClientError, BotoCoreError) as error:
        print(f"restore: {error}", file=sys.stderr)
        return 1
    print(f"{shards} shards begin anew. Now purge the queues and deploy with tables.prefix={options.into}")
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m cronfleet.restore", description="Restore an installation's tables."
    )
    parser.add_argument("--to", type=_second, required=True, help="the second, such as 2026-12-01T08:15:00Z")
    parser.add_argument("--table-prefix", default="cronfleet", help="how the installation's tables begin")
    parser.add_argument("--into", required=True, help="how the restored ones are to begin")
    parser.add_argument("--recovery-days", type=int, default=35, help="recovery of the restored ones, 1 to 35 days")
    options = parser.parse_args(arguments)
    if options.into == options.table_prefix:
        parser.error("--into is the prefix of the tables that are there: write another, such as cronfleet-prod-r1")
    return options


def _second(text: str) -> Instant:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write one such as 2026-12-01T08:15:00Z") from None
    return floor_second(from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))


if __name__ == "__main__":
    sys.exit(main())
