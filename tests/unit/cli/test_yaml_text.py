"""YAML as people mean it, and as it is written back."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cronfleet_cli import yaml_text
from cronfleet_cli.errors import WrongUse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=8,
)


def test_the_keys_and_values_that_yaml_1_1_would_turn_into_something_else_stay_words():
    text = "on: success\nby: 06:30\nday: 2026-12-01\noff: no\nlist: [yes, y, 1_000, 0o17, 017, .inf]\n"
    assert yaml_text.read(text, "x") == [
        {
            "on": "success",
            "by": "06:30",
            "day": "2026-12-01",
            "off": "no",
            "list": ["yes", "y", "1_000", "0o17", "017", ".inf"],
        }
    ]


def test_numbers_truth_and_nothing_are_read():
    assert yaml_text.read("[1, -2, 0.5, 1e3, true, False, null, ~, '']", "x") == [
        [1, -2, 0.5, 1000.0, True, False, None, None, ""]
    ]


@given(JSON)
def test_what_is_written_is_read_back_by_this_reader(value):
    assert yaml_text.read(yaml_text.write([value]), "x") == [[value]]


@given(st.text() | st.sampled_from(["on", "1e3", "06:30", "0o17", "~", "2026-12-01", "1_000", "yes"]))
def test_text_is_written_so_that_other_readers_take_it_for_text_too(value):
    assert yaml.safe_load(yaml_text.write([value])) == [value]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\na: 2", "f.yaml:2: 'a' stands here twice"),
        ("a: &x 1\nb: *x", r"f.yaml:2: aliases"),
        ("a: [", "f.yaml:"),
        ("a: !!python/object:os.system x", "f.yaml:1"),
        ("a: \x07", "is no YAML"),
        ("{[1]: 2}", "f.yaml:1"),
        ("[" * 1_500, "f.yaml"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text, sentence):
    with pytest.raises(WrongUse, match=sentence):
        yaml_text.read(text, "f.yaml")
