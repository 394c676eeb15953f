"""Entry of the long worker: `python -m long_worker`, in a container as its first process, or beside the local stack."""

import os
import sys

from cronfleet.settings import RUN_QUEUE_URLS, SettingsError, from_environment

from .options import options_of
from .supervisor import Supervisor


def main() -> int:
    """Work until SIGTERM; the answer is the exit status."""
    try:
        from_environment(RUN_QUEUE_URLS)
        options = options_of()
    except SettingsError as error:
        sys.stderr.write(f"long_worker: {error}\n")
        return 2
    return 0 if Supervisor(options, os.environ).run() else 1


if __name__ == "__main__":
    sys.exit(main())
