"""Synthesises several installations in one process, for starting Node is most of what one costs.

`python -m tests.integration.infra.synthesise JSON`: an object of folder and context.
"""

import json
import sys
from pathlib import Path

from infra.app import synthesise

for folder, context in json.loads(sys.argv[1]).items():
    synthesise(context, Path(folder))
