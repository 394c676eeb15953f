"""Redaction: nothing of a secret is left, however it was written down; and no more than that is taken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.adapters.targets.redaction import BLOT, SHORTEST, Redaction


@pytest.mark.parametrize(
    "text",
    ['hunter2-"quoted"', json.dumps('hunter2-"quoted"'), json.dumps({"deep": ['hunter2-"quoted"']})],
)
def test_a_secret_is_found_as_it_is_and_as_json_writes_it(text: str) -> None:
    assert "hunter2" not in Redaction(['hunter2-"quoted"'])(f"before {text} after")


def test_the_longer_of_two_secrets_is_taken_whole() -> None:
    assert Redaction(["secret-1", "secret-1-and-more"])("secret-1-and-more, secret-1") == f"{BLOT}, {BLOT}"


def test_a_value_too_short_to_be_a_secret_blots_out_no_words() -> None:
    assert Redaction(["on", "", "a" * (SHORTEST - 1)])("on and on aaaaa") == "on and on aaaaa"


TEXT = st.characters(exclude_characters=BLOT)
SECRETS = st.text(TEXT, min_size=SHORTEST).filter(lambda text: len(text.strip()) >= SHORTEST)


@given(SECRETS, st.text(TEXT), st.booleans())
def test_no_secret_is_left_in_any_line(secret: str, around: str, in_ascii: bool) -> None:
    line = json.dumps({"message": f"{around}{secret}{around}"}, ensure_ascii=in_ascii)
    redacted = Redaction([secret])(line)
    assert json.dumps(secret, ensure_ascii=in_ascii)[1:-1] not in redacted
