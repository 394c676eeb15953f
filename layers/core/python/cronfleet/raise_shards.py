"""More shards for an installation that is at work, from the command line of whoever has AWS rights to its tables.

    python -m cronfleet.raise_shards --to 128 --table-prefix cronfleet-prod

From the ticker's next minute on, so many shards are served. Then deploy with that number (`shards` in `cdk.json`):
new schedules are put into all of them. See docs/upgrading.md. Region and credentials are boto3's.
"""

import argparse
import sys

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet import bootstrap
from cronfleet.domain.errors import CronfleetError
from cronfleet.ports.job_store import NoAnswer
from cronfleet.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """The command: 0 when so many are served, 1 with one line of why not."""
    parser = argparse.ArgumentParser(prog="python -m cronfleet.raise_shards", description="Have more shards served.")
    parser.add_argument("--to", type=int, required=True, help="how many there are to be in all")
    parser.add_argument("--table-prefix", default="cronfleet", help="how the installation's tables begin")
    options = parser.parse_args(arguments)
    try:
        before = bootstrap.raise_shards(Settings(options.table_prefix), options.to)
    except (CronfleetError, NoAnswer, ClientError, BotoCoreError) as error:
        print(f"raise_shards: {error}", file=sys.stderr)
        return 1
    print(f"{before or 'An unknown number'} → {options.to}: served within two minutes; then deploy with this number.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
