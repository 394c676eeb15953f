"""Whether the long worker of this container is alive, as ECS asks: `python -m long_worker.health`.

Places that are stuck are ended by their supervisor. So what is asked is whether that one goes on.
"""

import sys
from typing import Final

from .folder import SUPERVISOR, Folder
from .options import options_of

SILENT_SECONDS: Final = 60.0


def main() -> int:
    """The exit status: 0 where it is alive."""
    said = Folder(options_of().folder).read(SUPERVISOR)
    return 0 if said is not None and said.age < SILENT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
