"""What is new in a window that moves."""

import pytest

from cronfleet_cli.following import unseen


@pytest.mark.parametrize(
    ("known", "lines", "new"),
    [
        ("", "abc", "abc"),
        ("abc", "abc", ""),
        ("abc", "abcd", "d"),
        ("abc", "cde", "de"),
        ("abc", "xyz", "xyz"),
        ("aaa", "aaab", "b"),
        ("abc", "", ""),
    ],
)
def test_lines_that_were_shown_are_not_shown_again(known, lines, new):
    assert unseen(list(known), list(lines)) == list(new)
