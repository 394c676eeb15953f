"""Takes a stack down, however far it had come up, so that what it holds is there at the next start."""

import time
from collections.abc import Callable
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local import deployment, emulator
from local.aws import Aws
from local.folder import Folder
from local.gateway import stop_front
from local.long_worker import stop_long_worker
from local.screen import Screen

LOOK_SECONDS: Final = 0.1
STACKS_SECONDS: Final = 20
MESSAGES_SECONDS: Final = 3


def stop(folder: Folder, screen: Screen) -> None:
    """Stop every process of the folder's stack and say what is left where."""
    stop_front(folder)
    folder.description.unlink(missing_ok=True)
    running = emulator.running(folder)
    if running is None:
        stop_long_worker(folder)
        return
    with screen.step("stopping, and keeping what is registered"):
        stop_long_worker(folder)
        _settle(Aws(running.endpoint))
        complaint = emulator.stop(running, folder)
    if complaint:
        screen.note(complaint)
    else:
        screen.say(
            f"Stopped: no process is left. Schedules and history are in {folder.path} for the next start; "
            "delete that folder to begin anew."
        )


def _settle(aws: Aws) -> None:
    """Let what is under way come to its end: the emulator does not wait for it while it writes its state."""
    try:
        deployment.set_polling(aws, enabled=False)
        _wait_while(lambda: bool(deployment.unsettled(aws)), STACKS_SECONDS)
        _wait_while(lambda: deployment.messages_in_hand(aws) > 0, MESSAGES_SECONDS)
    except (ClientError, BotoCoreError):
        # An emulator that does not answer is stopped all the same.
        return


def _wait_while(busy: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while busy() and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
