"""The first key of an installation, from the command line of whoever has AWS rights to its tables.

    python -m cronfleet.first_key --tenant operations
    python -m cronfleet.first_key --tenant demo --table-prefix cronfleet-staging --key-file ~/.cronfleet-key

Prints a platform admin's key, which is shown nowhere again; with `--key-file` it is written there instead, and read
from there the next time: then that key is put back as it was. Region and credentials are boto3's.
"""

import argparse
import sys
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet import bootstrap
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.ports.job_store import NoAnswer, Refused
from cronfleet.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """The command: 0 when the key is there, 1 with one line of why not."""
    options = _parse(arguments)
    try:
        text = _text_in(options.key_file)
        made = bootstrap.first_key(Settings(options.table_prefix)).make(options.tenant, text)
        if options.key_file is None:
            print(made)
        elif made != text:
            options.key_file.touch(mode=0o600)
            options.key_file.write_text(made, encoding="utf-8")
    except Refused:
        return _failed("somebody else has changed the tenant or the key at the same time; try again")
    except (CronfleetError, NoAnswer, ClientError, BotoCoreError, OSError) as error:
        return _failed(str(error))
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cronfleet.first_key", description="Make a platform admin's key.")
    parser.add_argument("--tenant", required=True, help="the tenant that the key belongs to; made if it is not there")
    parser.add_argument("--table-prefix", default="cronfleet", help="how the installation's tables begin")
    parser.add_argument("--key-file", type=Path, help="keep the key here (mode 600) and print nothing")
    options = parser.parse_args(arguments)
    if not ID_PATTERN.fullmatch(options.tenant):
        parser.error(f"--tenant {options.tenant!r}: write 1 to 64 letters, digits, dots, dashes and underscores")
    return options


def _text_in(path: Path | None) -> str:
    return path.read_text(encoding="utf-8").strip() if path is not None and path.exists() else ""


def _failed(why: str) -> int:
    print(f"first_key: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
