"""An attempt in a process of its own, so that its time limit really stops it and its death is only its own.

The child is a fork: it starts in milliseconds with every module imported and the payload in its memory. It talks to
its parent in lines of JSON over a socket pair; the parent waits with a limit, and whatever happens the child's whole
process group is killed and the child reaped before the call returns. `multiprocessing` is not used: its queues need
/dev/shm, which Lambda does not have, and its pipes can block a parent past any limit.
"""

import contextlib
import ctypes
import functools
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from cronfleet.domain.attempt import Result
from cronfleet.domain.run import Outcome

MAX_LINE_BYTES: Final = 64 * 1024
"""The longest message between child and parent; whatever is longer is a fault and ends the attempt."""

POLL_SECONDS: Final = 0.25
"""How often the parent looks whether the child has died although something still holds its end of the socket."""

PARENT_SEND_SECONDS: Final = 1.0
"""How long a child may leave an answer unread before it is taken for broken."""

_PR_SET_PDEATHSIG: Final = 1

Request = Mapping[str, Any]
Work = Callable[["Channel"], Result]
Answer = Callable[[Request], Request]
Look = Callable[[], Result | None]
"""Looks after the attempt while its child works; a result ends it."""


def look_away() -> None:
    """Looks at nothing."""


class Garbled(Exception):
    """The other end sent something that is not a message."""


class Channel:
    """One end of the line between parent and child: objects of JSON, one per line."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._begun = b""
        self._lock = threading.Lock()

    def send(self, message: Request) -> None:
        """Send `message`. Raises `OSError` when the other end is gone or does not read."""
        self._end.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def wait(self, seconds: float | None) -> bool:
        """Whether there is something to read within `seconds` (`None`: for ever)."""
        return bool(select.select([self._end], [], [], seconds)[0])

    def read(self) -> list[Request]:
        """Take in what has arrived; the messages that are whole by now. Raises `EOFError` and `Garbled`."""
        data = self._end.recv(MAX_LINE_BYTES)
        if not data:
            raise EOFError
        *lines, self._begun = (self._begun + data).split(b"\n")
        if len(self._begun) > MAX_LINE_BYTES:
            raise Garbled(f"a message of more than {MAX_LINE_BYTES} bytes")
        return [_decoded(line) for line in lines]

    def ask(self, request: Request) -> Request:
        """Send a request and wait for its answer; one at a time, whatever thread asks."""
        with self._lock:
            self.send({"request": request})
            while not (answers := self.read()):
                pass
            return answers[0]

    def close(self) -> None:
        """Hang up."""
        self._end.close()


def _decoded(line: bytes) -> Request:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Garbled(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise Garbled("not an object")
    return message


def run_in_child(work: Work, seconds: float, answer: Answer, look: Look = look_away) -> Result:
    """Do `work` in a child process and give its result; kill it after `seconds`.

    `answer` serves, in this process, what the child asks through its channel; `look` is called a few times a second
    meanwhile. What either raises ends the child and is raised from here.
    """
    ours, theirs = socket.socketpair()
    ours.settimeout(PARENT_SEND_SECONDS)
    _libc()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _live(work, Channel(theirs), parent)
    theirs.close()
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # The child does so too: whoever comes first, the group is there before it is killed.
    child = _Child(pid, Channel(ours))
    try:
        return child.attend(seconds, answer, look)
    finally:
        child.stop()


class _Child:
    """The parent's view of its child."""

    def __init__(self, pid: int, channel: Channel) -> None:
        self._pid = pid
        self._channel = channel

    def attend(self, seconds: float, answer: Answer, look: Look) -> Result:
        """Serve the child until it ends or its time is up."""
        left = seconds
        try:
            while left > 0:
                step, before = min(left, POLL_SECONDS), time.monotonic()
                if not self._channel.wait(step):
                    if self._end() is not None:
                        return self._died()
                    stopped = look()
                    if stopped is not None:
                        return stopped
                    # What was waited counts, even by a clock that stands still; and what the clock says, if that is
                    # more: a worker that stood still itself must not go on past its limit, and so past its lease.
                    left -= max(step, time.monotonic() - before)
                    continue
                for message in self._channel.read():
                    if "result" in message:
                        return _result(message["result"])
                    self._channel.send(answer(message.get("request") or {}))
                stopped = look()
                if stopped is not None:
                    return stopped
                left -= time.monotonic() - before
        except EOFError:
            return self._died()
        except (Garbled, OSError) as error:
            return Result(Outcome.FAILED, f"its process broke the line to the worker: {error or type(error).__name__}")
        return Result(Outcome.TIMED_OUT, f"stopped after {seconds:.0f} s, its time limit")

    def stop(self) -> None:
        """End the child and whatever it started, and leave no zombie."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._channel.close()

    def _end(self) -> os.waitid_result | None:
        """How the child ended, if it has; it is not reaped, so that its number stays its own until it is killed."""
        try:
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return None

    def _died(self) -> Result:
        """The result of a child that hung up without one."""
        end = self._wait_briefly()
        if end is None:
            return Result(Outcome.FAILED, "its process hung up without a result")
        if end.si_code == os.CLD_EXITED:
            return Result(Outcome.FAILED, f"its process ended with exit code {end.si_status} and no result")
        name = signal.Signals(end.si_status).name
        hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
        return Result(Outcome.FAILED, f"its process was ended by {name}{hint}")

    def _wait_briefly(self) -> os.waitid_result | None:
        # The end of a process and the end of its sockets are not one moment. Looked for again and again, because no
        # system call waits for a child with a limit on every platform.
        for _ in range(100):
            end = self._end()
            if end is not None:
                return end
            time.sleep(0.01)
        return None


def _result(fields: Any) -> Result:
    outcome, error, retryable = fields
    return Result(Outcome(outcome), error, retryable)


# --- in the child ------------------------------------------------------------------------------------------------


def _live(work: Work, channel: Channel, parent: int) -> NoReturn:
    """The child's whole life. It never returns into the code that forked it."""
    code = 1
    try:
        _settle(parent)
        result = work(channel)
        _flush()
        channel.send({"result": [result.outcome.value, result.error, result.retryable]})
        code = 0
    except BaseException:
        traceback.print_exc()
        _flush()
    finally:
        os._exit(code)


def _settle(parent: int) -> None:
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _leave_standard_streams()
    # A worker that is killed must not leave a job running that nobody can stop any more.
    libc = _libc()
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # It died before the line above.


def _leave_standard_streams() -> None:
    """Read nothing and write to the log alone, also what a program writes that the job starts.

    Standard input and output may be the line on which the function gets its events and answers them: a program that
    reads its input to the end, or writes JSON, would take the next event or answer for this one.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)


@functools.cache
def _libc() -> ctypes.CDLL | None:
    """The C library on Linux, loaded before the fork."""
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
