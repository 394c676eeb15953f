"""What ends one peer's part of the benchmark, and not that of the others."""


class Failed(Exception):
    """A peer could not be installed, started or driven; the message says why, for the table."""
