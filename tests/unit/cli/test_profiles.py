"""Which installation a command speaks to, and that a key goes nowhere else."""

from pathlib import Path

import pytest

from cronfleet_cli.errors import WrongUse
from cronfleet_cli.profiles import Connection, connection_of

URL = "https://cronfleet.example.com"
CONFIG = f"""\
default = "prod"

[profiles.prod]
url = "{URL}/v1/"
key = "cf_prod"
tenant = "acme"

[profiles.local]
url = "http://127.0.0.1:8787"
key_file = "KEYFILE"
"""


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    key = tmp_path / "key"
    key.write_text("cf_local\n")
    file = tmp_path / "config.toml"
    file.write_text(CONFIG.replace("KEYFILE", str(key)))
    for path in (key, file):
        path.chmod(0o600)
    return {"CRONFLEET_CONFIG": str(file)}


def test_address_and_key_come_from_the_environment():
    said = {"CRONFLEET_URL": f"{URL}/", "CRONFLEET_KEY": " cf_1 ", "CRONFLEET_TENANT": "acme"}
    assert connection_of(said, None, None) == Connection(URL, "cf_1", "acme", "environment")


def test_without_them_the_default_profile_is_used_and_another_if_it_is_named(config):
    assert connection_of(config, None, None) == Connection(URL, "cf_prod", "acme", "prod")
    local = Connection("http://127.0.0.1:8787", "cf_local", "", "local")
    assert connection_of(config, "local", None) == local
    assert connection_of({**config, "CRONFLEET_PROFILE": "local"}, None, None) == local


def test_a_profile_that_is_named_goes_before_the_environment(config):
    said = {**config, "CRONFLEET_URL": "https://other.example.com", "CRONFLEET_KEY": "cf_other"}
    assert connection_of(said, "prod", None).key == "cf_prod"
    assert connection_of(said, None, None).key == "cf_other"


def test_the_tenant_of_the_command_line_goes_before_all(config):
    assert connection_of({**config, "CRONFLEET_TENANT": "beta"}, "prod", "gamma").tenant == "gamma"


@pytest.mark.parametrize("alone", ["CRONFLEET_URL", "CRONFLEET_KEY"])
def test_half_of_it_is_refused_and_no_other_half_taken_from_a_profile(config, alone):
    with pytest.raises(WrongUse, match="set both, or neither"):
        connection_of({**config, alone: URL}, None, None)


@pytest.mark.parametrize("name", ["key", "config.toml"])
def test_a_key_that_others_can_read_is_refused(config, tmp_path, name):
    (tmp_path / name).chmod(0o644)
    with pytest.raises(WrongUse, match="chmod 600"):
        connection_of(config, "local" if name == "key" else "prod", None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[profiles.x]\nurl = 'ftp://x'\nkey = 'k'", "is no address"),
        ("[profiles.x]\nurl = 'https://x'", "needs url, and either key or key_file"),
        ("[profiles.x]\nurl = 'https://x'\nkey = 'k'\nkye = 'k'", "kye is no setting"),
        ("[profiles.x]\nurl = 'https://x'\nkey = 'a b'", "characters that no key has"),
        ("[profiles.y]\nurl = 'https://x'\nkey = 'k'", "known are: y"),
        ("profiles = ", "config.toml"),
        ("profiles = {x = 1}", "a heading of its own"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(config, text, sentence):
    Path(config["CRONFLEET_CONFIG"]).write_text(text)
    with pytest.raises(WrongUse, match=sentence):
        connection_of(config, "x", None)


def test_without_anything_both_ways_are_named(tmp_path):
    with pytest.raises(WrongUse, match=r"set CRONFLEET_URL and CRONFLEET_KEY, or write a profile to .*config.toml"):
        connection_of({"XDG_CONFIG_HOME": str(tmp_path)}, None, None)
