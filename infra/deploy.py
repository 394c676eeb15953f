"""Deploys one environment: `make deploy ENV=prod`, which is `python -m infra.deploy --environment prod`.

Synthesises, shows what would change, asks, and only then deploys. Where nobody can be asked, `--yes` (`YES=1`) is the
answer; without it nothing is done. Credentials are those of the AWS profile; docs/upgrading.md says what happens then.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.app import synthesise
from infra.config.context import ConfigError

ROOT: Final = Path(__file__).resolve().parent.parent
CDK: Final = ROOT / "infra" / "node_modules" / ".bin" / "cdk"
QUIET: Final = ("--no-notices", "--no-version-reporting")


class Refused(Exception):
    """Nothing was deployed; the message says why."""


def main(arguments: Sequence[str]) -> int:
    """The command: 0 when all is deployed, or there was nothing to deploy; 1 with one line of why not."""
    options = _parse(arguments)
    try:
        if not (options.yes or options.diff):
            _require_somebody(options.environment)
        synthesise(_context(options), options.output)
        _cdk("diff", options.output)
        if options.diff:
            return 0
        if not options.yes:
            _ask(options.environment, input)
        _cdk("deploy", options.output, "--require-approval", "never", "--progress", "events")
    except (Refused, ConfigError) as error:
        sys.stderr.write(f"deploy: {error}\n")
        return 1
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.deploy", description="Deploy one environment.")
    parser.add_argument("--environment", required=True, help="an entry of cdk.json")
    parser.add_argument("--yes", action="store_true", help="the answer to the question, where nobody is asked")
    parser.add_argument("--diff", action="store_true", help="only show what would change")
    parser.add_argument("-c", "--context", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "cdk.out")
    options = parser.parse_args(arguments)
    if not options.environment:
        parser.error("--environment is empty: write ENV=dev or another entry of cdk.json")
    wrong = [pair for pair in options.context if "=" not in pair]
    if wrong:
        parser.error(f"context {wrong[0]!r}: write KEY=VALUE, such as shards=128")
    return options


def _context(options: argparse.Namespace) -> dict[str, str]:
    given = dict(pair.split("=", 1) for pair in options.context)
    return {"environment": options.environment, **given}


def _require_somebody(environment: str) -> None:
    if not sys.stdin.isatty():
        raise Refused(
            f"nobody is here who could be asked: read `make diff ENV={environment}`, "
            f"then run `YES=1 make deploy ENV={environment}`"
        )


def _ask(environment: str, answer_to: Callable[[str], str]) -> None:
    """Have the name of the environment written: a word that nobody's fingers write by themselves."""
    try:
        said = answer_to(f"Deploy this to {environment}? Write its name to say yes: ")
    except EOFError:
        said = ""
    if said.strip() != environment:
        raise Refused(f"the answer was {said.strip()!r} and not {environment!r}: nothing was deployed")


def _cdk(command: str, assembly: Path, *options: str) -> None:
    line = [str(CDK), command, "--all", "--app", str(assembly), *options, *QUIET]
    # Its own words go straight to whoever reads them. Node lies beside our Python.
    done = subprocess.run(line, cwd=ROOT, env=_environment(os.environ), check=False)  # noqa: S603 - our own words
    if done.returncode != 0:
        raise Refused(f"cdk {command} ended with {done.returncode}: what it says above is why")


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    return {**own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{own.get('PATH', '')}"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
