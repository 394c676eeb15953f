"""docs/architecture.md says of each module of the domain which subject it belongs to."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOMAIN = ROOT / "layers" / "core" / "python" / "cronfleet" / "domain"


def test_every_module_of_the_domain_stands_under_one_subject() -> None:
    section = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("What is where in")[1]
    table = section.split("|---|---|\n")[1].split("\n\n")[0]
    named = [name for row in table.splitlines() for name in re.findall(r"\w+", row.split("|")[2])]
    assert sorted(named) == sorted(path.stem for path in DOMAIN.glob("*.py") if path.stem != "__init__")
