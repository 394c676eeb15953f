"""docs/reasons.md says what the code says: every reason, its meaning, and what an explanation tells beside it."""

import inspect
import re
from pathlib import Path

from cronfleet.domain.explanation import DETAILS, RUN_DETAILS
from cronfleet.domain.reason import Code

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "reasons.md"


def expected() -> list[list[str]]:
    """The codes, with the sentences that the code itself has beside them."""
    pairs = re.findall(r'^    [A-Z_]+ = "(\w+)"\n    """(.+?)"""', inspect.getsource(Code), re.MULTILINE | re.DOTALL)
    assert [code for code, _ in pairs] == [code.value for code in Code]
    head = ["code", "meaning", "details of an explanation"]
    return [head, *([code, " ".join(meaning.split()), _details(Code(code))] for code, meaning in pairs)]


def _details(code: Code) -> str:
    if code not in DETAILS:
        return "explains no time"
    told = DETAILS[code].removeprefix(RUN_DETAILS)
    of_run = ["those of a run"] if told != DETAILS[code] else []
    return ", ".join([*of_run, *_names(told)]) or "none"


def _names(told: str) -> list[str]:
    return [f"`{name}`" for name in told.split()]


def test_the_details_of_a_run_are_named_once() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert f"*Those of a run* are {', '.join(_names(RUN_DETAILS))}." in text


def test_the_table_of_reasons_says_what_the_code_does() -> None:
    section = DOCUMENT.read_text(encoding="utf-8").split("\n## Codes\n")[1]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    wanted = expected()
    drawn = "\n".join("| " + " | ".join(row) + " |" for row in wanted)
    assert [rows[0], *rows[2:]] == wanted, f"docs/reasons.md should read:\n{drawn}"
