"""What keeps the stack from starting or running, told to the user in one line."""


class StackError(Exception):
    """The stack cannot start or go on; the message is the one line that the user sees, and says what to do."""


class Stopped(BaseException):
    """The user asked the stack to stop (Ctrl-C, SIGTERM); passes through every `except Exception`."""
