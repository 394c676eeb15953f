"""`python -m permissions cdk.out`: what each function of a synthesised installation may do, and whether it needs it.

Exits with 1 where a role allows too little or too much. `--table` prints the table of `docs/security.md`, and
`--write docs/security.md` puts it there.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from permissions.compare import Code, verdicts
from permissions.table import put_into, table
from permissions.templates import Templates


def main(arguments: Sequence[str]) -> int:
    """Print the verdicts, or the table."""
    parser = argparse.ArgumentParser(prog="python -m permissions", description="Hold roles to the code that has them.")
    parser.add_argument("folder", type=Path, help="where `python -m infra.app -o` has written the templates")
    parser.add_argument("--prefix", default="cronfleet", help="what the installation's names begin with")
    parser.add_argument("--table", action="store_true", help="print who may reach what, in Markdown")
    parser.add_argument("--write", type=Path, metavar="DOCUMENT", help="put that table into a document")
    parsed = parser.parse_args(arguments)
    templates = Templates(parsed.folder)
    if parsed.table:
        print(table(templates, parsed.prefix))
        return 0
    if parsed.write:
        put_into(parsed.write, table(templates, parsed.prefix))
        return 0
    wrong = [line for one in verdicts(templates, Code(), parsed.prefix) for line in (*one.missing, *one.unused)]
    print("\n".join(wrong) or "Every role allows what its code asks for, and nothing else.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
