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
