"""From arguments to exit status; every failure becomes one line."""

import os
import sys
from collections.abc import Sequence

from botocore.exceptions import BotoCoreError, ClientError

from local import surroundings
from local.errors import StackError
from local.options import parse
from local.screen import Screen
from local.stack import run


def run_until_stopped(arguments: Sequence[str]) -> int:
    """Run the stack with `arguments`; 0 when it was stopped, 1 when it could not start or go on."""
    options = parse(arguments)
    # Requests to this machine never go through the user's proxy.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = surroundings.base()["NO_PROXY"]
    screen = Screen(quiet=options.quiet)
    try:
        run(options, screen)
    except StackError as error:
        screen.error(str(error))
        return 1
    except (ClientError, BotoCoreError) as error:
        screen.error(f"the emulator refused what the stack asked of it: {error}")
        return 1
    except BrokenPipeError:
        # Whoever read our lines has gone; nothing more can be said, not even at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # A disk that filled up, a folder that may not be written.
        screen.error(f"the system refused what the stack asked of it: {error}")
        return 1
    return 0
