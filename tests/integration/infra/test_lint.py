"""What cfn-lint says of the templates of each environment: nothing."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.integration.infra.assembly import Assembly

IGNORED: Final = "W3005"
"""A dependency that a reference brings with it anyway: the CDK writes both."""


def test_cloudformation_has_nothing_against_either_environment_or_any_option(assemblies: dict[str, Assembly]) -> None:
    templates = [
        str(path)
        for name in ("prod", "dev", "everything")
        for path in sorted(assemblies[name].folder.glob("*.template.json"))
    ]
    program = Path(sys.executable).parent / "cfn-lint"
    command = [str(program), "--ignore-checks", IGNORED, "--", *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
