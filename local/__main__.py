"""`python -m local`: the whole product on this machine, until Ctrl-C. See `docs/local.md`."""

import signal
import sys

OLDEST_PYTHON = (3, 11)


def main() -> int:
    """Run the stack; the answer is the exit status."""
    # Before anything else is imported: an older Python could not even read those modules.
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        found = ".".join(map(str, sys.version_info[:2]))
        sys.stderr.write("cronfleet: this is Python " + found + ", and " + wanted + " or newer is needed\n")
        return 1
    # Nothing is running yet, so Ctrl-C need not be more than the end; the imports take half a second.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from local.command import run_until_stopped  # noqa: PLC0415 - see above

    return run_until_stopped(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
