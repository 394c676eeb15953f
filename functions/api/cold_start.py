"""Cold start: while the function is imported, Python's garbage collector rests.

Importing makes a hundred thousand objects that all stay, and the collector would look through them again and again: a
fifth of the CPU until the first event. Afterwards they are left out of what it looks through, so that none of its
passes stops a request for long.
"""

import gc

gc.disable()


def is_over() -> None:
    """Everything is imported: the collector works again, on what comes from now on."""
    gc.freeze()
    gc.enable()
