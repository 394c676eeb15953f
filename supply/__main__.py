"""`python -m supply audit` and `python -m supply sbom`: what the product is made of, and whether that is sound."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from supply.audit import CLEAN, UNASKED, audit, report
from supply.bill import bill, written


def main(arguments: Sequence[str]) -> int:
    """Audit, or write the bill."""
    parser = argparse.ArgumentParser(prog="python -m supply", description="Audit the locks; write the bill.")
    commands = parser.add_subparsers(dest="command", required=True)
    audits = commands.add_parser("audit", help="exit 0: nothing known; 1: something is; 3: nobody could be asked")
    audits.add_argument(
        "--may-be-offline", action="store_true", help="exit 0 where nobody could be asked; it is said all the same"
    )
    bills = commands.add_parser("sbom", help="write the software bill of materials, as CycloneDX JSON")
    bills.add_argument("-o", "--output", type=Path, default=Path("sbom.cdx.json"))
    parsed = parser.parse_args(arguments)
    if parsed.command == "sbom":
        parsed.output.write_text(written(bill()), encoding="utf-8")
        print(f"The bill of materials is in {parsed.output}.")
        return CLEAN
    code, lines = report(audit())
    print("\n".join(lines), file=sys.stdout if code == CLEAN else sys.stderr)
    return CLEAN if code == UNASKED and parsed.may_be_offline else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
