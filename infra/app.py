"""Synthesises the installation: `python -m infra.app -c local=true -o cdk.out`.

Needs Node and nothing else: no CDK command, no credentials, no Docker. The CDK command line calls the same
module, by `cdk.json`, and hands it its context and output folder by environment variables.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from infra.config.context import ConfigError
from infra.node import use_packaged_node

OUTPUT_FOLDER: Final = "cdk.out"
WRITTEN: Final = Path(__file__).resolve().parent.parent / "cdk.json"
"""Where the environments are written; the CDK command line reads their context there too."""
REFUSED: Final = "Validation failed"
"""How the CDK's error begins where a check found something that nobody acknowledged."""
CDK_OUTPUT_FOLDER: Final = "CDK_OUTDIR"
"""Set by the CDK command line when it runs this app."""


def main(arguments: Sequence[str]) -> None:
    """Write the cloud assembly; exits with one line on standard error where a context value is wrong."""
    parser = argparse.ArgumentParser(prog="python -m infra.app", description="Synthesise Cronfleet's stacks.")
    parser.add_argument("-c", "--context", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("-o", "--output", default=os.environ.get(CDK_OUTPUT_FOLDER, OUTPUT_FOLDER))
    parsed = parser.parse_args(arguments)
    wrong = [pair for pair in parsed.context if "=" not in pair]
    if wrong:
        parser.error(f"context {wrong[0]!r}: write KEY=VALUE, such as local=true")
    try:
        synthesise(dict(pair.split("=", 1) for pair in parsed.context), Path(parsed.output))
    except ConfigError as error:
        parser.error(str(error))
    except RuntimeError as error:
        if REFUSED not in str(error):
            raise
        # What was found, and where, has been said already.
        parser.exit(1, f"{error}\n")


def synthesise(context: dict[str, str], output: Path) -> None:
    """Write the cloud assembly of `context`, laid over that of `cdk.json`, to the folder `output`."""
    use_packaged_node()
    # Here and not above: Node starts while aws_cdk is imported, so it has to be chosen before.
    from infra.assembly import build  # noqa: PLC0415 - see the line above

    written = json.loads(WRITTEN.read_text()).get("context", {})
    build({**written, **context}, str(output)).synth()


if __name__ == "__main__":
    main(sys.argv[1:])
