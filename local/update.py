"""`python -m local.update` (`make deploy-local`): what is in the checkout now goes onto the stack that runs.

The stack keeps running: schedules fire while their functions are replaced, and runs that have begun end under the
version that began them.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local import deployment
from local.aws import Aws
from local.emulator import Emulator
from local.errors import StackError
from local.folder import Folder
from local.long_worker import renew_long_worker
from local.options import parse
from local.process import remembered
from local.screen import Screen
from local.start import LIVE, deploy, invoke

FUNCTION: Final = "AWS::Lambda::Function"


def main(arguments: Sequence[str]) -> int:
    """Deploy onto the running stack; 1 with one line of why that cannot be done."""
    options = parse(arguments)
    screen = Screen(quiet=options.quiet)
    try:
        _update(Folder(options.state), screen)
    except StackError as error:
        screen.error(str(error))
    except (ClientError, BotoCoreError) as error:
        screen.error(f"the emulator refused what the deployment asked of it: {error}")
    else:
        return 0
    return 1


def _update(folder: Folder, screen: Screen) -> None:
    running = _running(folder)
    aws = Aws(running.endpoint)
    mark, note = deployment.fingerprint(*deployment.context(folder)), deployment.noted(aws)
    if note is not None and note.fingerprint == mark:
        screen.say("Nothing has changed since the last deployment.")
        return
    before = _versions(aws, deployment.inspect(aws, note.stacks)) if note else {}
    deployed = deploy(running, aws, folder, screen, mark)
    # Its next minute may be a minute away; what was deployed may have more shards, for which no ticks are laid yet.
    invoke(aws, deployed.outputs["TickerFunction"])
    after = _versions(aws, deployed)
    for name, version in sorted(after.items()):
        if before.get(name) != version:
            screen.say(f"{name}: version {before.get(name, 'none')} → {version}")
    if renew_long_worker(folder, before, after):
        screen.say("long worker: stopped, for the supervisor to start it with what is deployed now")


def _running(folder: Folder) -> Emulator:
    """The emulator of the stack that runs from `folder`; nothing is started, and nothing stopped."""
    process = remembered(folder.emulator_record)
    found = Emulator(process, int(folder.emulator_port.read_text())) if process is not None else None
    if found is None or not folder.description.exists() or not found.answers():
        raise StackError(
            f"no stack runs from {folder.path}: `make run` starts one, and deploys what is in the checkout then"
        )
    return found


def _versions(aws: Aws, deployed: deployment.Deployment) -> dict[str, Any]:
    """Which version of each function is live."""
    client = aws.client("lambda")
    names = deployed.resources.get(FUNCTION, frozenset())
    return {name: client.get_alias(FunctionName=name, Name=LIVE)["FunctionVersion"] for name in names}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
