"""Every role in every template: it allows what the code behind it asks for, and nothing that a rule forbids."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from permissions.compare import KEPT, NEVER, ROOT, Code, verdicts
from permissions.needs import of_code
from permissions.rules import RULES
from permissions.scopes import SCOPES
from permissions.templates import Templates
from tests.integration.infra.assembly import Assembly
from tests.integration.infra.conftest import CONTEXTS

PREFIXES = {name: "cronfleet-dev" if name == "dev" else "cronfleet" for name in CONTEXTS}
INSTALLATIONS = list(CONTEXTS)


@pytest.fixture(scope="session")
def code() -> Code:
    return Code(cache=ROOT / ".cache" / "permissions")


@pytest.fixture(scope="session")
def templates(assemblies: dict[str, Assembly]) -> dict[str, Templates]:
    return {name: Templates(assembly.folder) for name, assembly in assemblies.items()}


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_each_part_may_do_what_its_code_asks_for(templates: dict[str, Templates], code: Code, name: str) -> None:
    missing = [line for one in verdicts(templates[name], code, PREFIXES[name]) for line in one.missing]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_no_part_may_do_what_its_code_never_asks_for(templates: dict[str, Templates], code: Code, name: str) -> None:
    unused = [line for one in verdicts(templates[name], code, PREFIXES[name]) for line in one.unused]
    assert not unused, "\n".join(unused)


def test_every_reason_is_still_needed(templates: dict[str, Templates], code: Code) -> None:
    parts = templates["everything"].parts("cronfleet")
    found = {
        (part.folder, need.action, need.places[0].rpartition("-")[2])
        for part in parts
        for need in of_code(part, code.requests(part.folder), "cronfleet")
    }
    assert set(NEVER) <= found, "reading the code finds no way to these any more: take them out of NEVER"
    # Some rights come with an option.
    roles = templates["everything"].roles()
    granted = {
        (part.name, action)
        for part in templates["everything"].parts("cronfleet")
        for one in roles[part.role].statements
        for action in one.actions
    }
    assert {key[:2] for key in KEPT} <= granted


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_partitions_are_limited_where_it_is_said_and_nowhere_else(templates: dict[str, Templates], name: str) -> None:
    roles = templates[name].roles()
    said: dict[tuple[str, str, str], frozenset[str]] = {}
    unlimited: set[tuple[str, str, str]] = set()
    for part in templates[name].parts(PREFIXES[name]):
        for one in roles[part.role].statements:
            keys = re.findall(r'LeadingKeys": (\[.*?\])', one.condition)
            for action in one.actions:
                place = (part.folder, action, one.resources[0].rpartition("-")[2])
                if keys:
                    said[place] = frozenset(json.loads(keys[0]))
                else:
                    unlimited.add(place)
    assert said == SCOPES
    assert not said.keys() & unlimited


@pytest.mark.parametrize("name", INSTALLATIONS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_policy_breaks_a_rule(
    templates: dict[str, Templates], rule: Callable[[Templates], Iterator[str]], name: str
) -> None:
    broken = list(rule(templates[name]))
    assert not broken, "\n".join(broken)
