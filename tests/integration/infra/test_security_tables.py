"""docs/security.md says who may reach what: the table is that of the templates."""

from pathlib import Path

from permissions.table import BEGIN, END, put_into, table
from permissions.templates import Templates
from tests.integration.infra.assembly import Assembly

DOCUMENT = Path(__file__).parents[3] / "docs/security.md"


def test_the_table_of_roles_is_that_of_the_templates(on_aws: Assembly, tmp_path: Path) -> None:
    said = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
    made = table(Templates(on_aws.folder), "cronfleet")
    how = "python -m infra.app -c environment=prod -c name=cronfleet -o cdk.out"
    assert said == made, f"put it there: {how} && python -m permissions cdk.out --write docs/security.md\n{made}"
    copy = tmp_path / "copy.md"
    copy.write_text(f"a\n{BEGIN}\nold\n{END}\nb\n", encoding="utf-8")
    put_into(copy, made)
    assert copy.read_text(encoding="utf-8") == f"a\n{BEGIN}\n{made}\n{END}\nb\n"
