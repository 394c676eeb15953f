"""The hold from the command line: an update waits until what was claimed is over."""

from cronfleet.domain.role import Role
from tests.support.command_line import CommandLine, put_key


def test_an_installation_is_drained_shown_and_released(cronfleet: CommandLine) -> None:
    cronfleet.environment["CRONFLEET_KEY"] = put_key(cronfleet.api, "root", Role.PLATFORM_ADMIN)
    drained = cronfleet.json("hold", "drain", "-r", "update", "--wait", "60")
    assert drained["going_on"]["drained"]
    assert cronfleet.json("hold", "show")["status"] == "drain"
    assert cronfleet("hold", "standby", "-r", "eu-west-1 has failed").code == 0
    assert cronfleet("hold", "drain", "-r", "x").code == 1
    assert cronfleet.json("hold", "release", "-r", "done")["status"] == "running"


def test_holds_that_are_over_stand_in_a_table_one_a_line(cronfleet: CommandLine) -> None:
    cronfleet.environment["CRONFLEET_KEY"] = put_key(cronfleet.api, "root", Role.PLATFORM_ADMIN)
    for reason in ("first update", "second update"):
        cronfleet("hold", "drain", "-r", reason)
        cronfleet("hold", "release", "-r", f"{reason} is done")
    shown = cronfleet("hold", "show").out
    assert [line.split()[0] for line in shown.splitlines() if "update is done" in line] == ["drain", "drain"]
    assert "{" not in shown
