"""`python -m local.trace RUN_ID` shows a run's trace, as the running stack knows it; a trace id will do as well."""

import argparse
import http.client
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from local.folder import Folder
from local.options import ROOT


def main(arguments: Sequence[str]) -> int:
    """Print the trace; 1 with a line of why where there is none."""
    parser = argparse.ArgumentParser(prog="python -m local.trace", description="Show a trace as a tree with bars.")
    parser.add_argument("id", help="the id of a run or of a trace")
    parser.add_argument("--state-dir", type=Path, default=ROOT / ".local" / "state", help="that of the running stack")
    chosen = parser.parse_args(arguments)
    if not chosen.id.strip("/ "):
        parser.error("the id is empty; /traces on the stack's address lists the latest traces")
    description = Folder(chosen.state_dir.resolve()).description
    if not description.exists():
        sys.stderr.write(f"no stack runs from {chosen.state_dir}: `make run` starts one\n")
        return 1
    where = urlsplit(json.loads(description.read_text())["url"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
    try:
        connection.request("GET", f"/traces/{quote(chosen.id, safe='~')}?format=text")
        answer = connection.getresponse()
        text = answer.read().decode()
    except OSError as error:
        sys.stderr.write(f"the stack at {where.netloc} does not answer ({error}): `make run` starts one\n")
        return 1
    finally:
        connection.close()
    if answer.status != http.client.OK:
        sys.stderr.write(text)
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
