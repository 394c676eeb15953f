"""docs/warnings.md says what the code says: every warning and its meaning."""

import inspect
import re
from pathlib import Path

from cronfleet.domain.warning import WarningCode

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "warnings.md"


def test_the_table_of_warnings_says_what_the_code_does() -> None:
    source = inspect.getsource(WarningCode)
    pairs = re.findall(r'^    [A-Z_]+ = "(\w+)"\n    """(.+?)"""', source, re.MULTILINE | re.DOTALL)
    assert [code for code, _ in pairs] == [code.value for code in WarningCode], "each code has its sentence"
    wanted = [f"| `{code}` | {' '.join(meaning.split())} |" for code, meaning in pairs]
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## Warnings\n")[1]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    drawn = "\n".join(wanted)
    assert lines == wanted, f"docs/warnings.md should read:\n{drawn}"
