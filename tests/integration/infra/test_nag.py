"""What cdk-nag finds in each environment: nothing that nobody meant, and nothing acknowledged that is not there."""

import json
from typing import Any

import pytest

from infra.acknowledgements import ACKNOWLEDGED
from tests.integration.infra.assembly import Assembly

ON_AWS = ("prod", "dev", "everything")


def report(assembly: Assembly) -> dict[str, Any]:
    written = json.loads((assembly.folder / "validation-report.json").read_text())
    [found] = [one for one in written["pluginReports"] if one["pluginName"] == "AwsSolutions"]
    return dict(found)


@pytest.mark.parametrize("name", ON_AWS)
def test_every_synthesis_for_aws_was_looked_at_and_nothing_was_found(
    assemblies: dict[str, Assembly], name: str
) -> None:
    found = report(assemblies[name])
    assert (found["conclusion"], found["violations"]) == ("success", [])


def test_each_acknowledgement_is_of_something_that_is_there_and_says_why(assemblies: dict[str, Assembly]) -> None:
    needed = {
        (one["reason"], one["acknowledgedAt"].partition("-")[2].removeprefix("dev-"))
        for name in ON_AWS
        for one in report(assemblies[name]).get("suppressedViolations", ())
    }
    for one in ACKNOWLEDGED:
        assert len(one.reason.split()) >= 8, one
        for path in one.at:
            assert (one.reason, path) in needed, f"{one.rule} at {path} is no longer found: take it out"
