"""The grammar: what is accepted and what it expands to, what is refused and what the refusal says."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cronfleet.domain import cron
from cronfleet.domain.cron_grammar import LONGEST_EXPRESSION, expand, normalise
from cronfleet.domain.errors import Invalid
from cronfleet.domain.trigger import parse_trigger
from tests.support.cron_expressions import expressions


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("@DAILY", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * SUN"),
        (" \t0 2 * * *\n", "0 2 * * *"),
        ("0 2 ? * mon", "0 2 * * 1"),
        ("0 2 ? * ?", "0 2 * * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * 7-2", "0 0 * * 0-2"),
        ("0 0 * * 0-7", "0 0 * * 0-6"),
        ("0 0 * * sat-mon", "0 0 * * 0,1,6"),
        ("0 0 * * mon-sun/2", "0 0 * * 1,3,5,0"),
        ("0 0 * * 7-7", "0 0 * * 0"),
        ("0 0 * NOV-FEB *", "0 0 * 11,12,1,2 *"),
        ("50-10/7 * * * *", "50,57,4 * * * *"),
        ("0 0 28-3 * *", "0 0 28,29,30,31,1,2,3 * *"),
        ("59/15 * * * *", "59 * * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("0 0 * 10/1 *", "0 0 * 10,11,12 *"),
        ("00 09 01 01 *", "0 9 1 1 *"),
        ("0 0 l,lw,l-3,15w * *", "0 0 L,LW,L-3,15W * *"),
        ("0 0 * * fri#5,SUNl", "0 0 * * 5#5,7L"),
    ],
)
def test_two_spellings_of_one_schedule_expand_alike(text: str, same_as: str) -> None:
    assert expand(text) == expand(same_as)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 25 * * *", "hour `25` (character 3) is not in 0–23"),
        ("25 30 * * *", "hour `30` (character 4) is not in 0–23"),
        ("0 2 * *", "has 4 fields, not five"),
        ("*/10 * * * * *", '{"every": "10s"}'),
        ("0 30 2 * * *", "did you mean `30 2 * * *`?"),
        ("30 2 * * ? *", "did you mean `30 2 * * ?`?"),
        ("0 0 1,15 * 1 2026", "did you mean `0 0 1,15 * 1`?"),
        ("0 0 12 ? * WED 2026", "did you mean `0 12 ? * WED`?"),
        ("0 0 * * SUN-", "a number before and after its `-`"),
        ("0 0 * * SUN-MON-TUE", "a range has two ends"),
        ("0 2 * * * /usr/bin/backup", "the command is the schedule's target"),
        ("1, 2 * * * *", "a list has no blanks"),
        ("@every 5m", '{"every": "5m"}'),
        ("@every 1h30m", '{"every": "90m"}'),
        ("@every 1.5h", '{"every": "5m"}'),
        ("0 2 * * * # nightly", "`description`"),
        ("# nightly", "`description`"),
        ("0 2 * * *#nightly", "`description`"),
        ("@daily # nightly", "`description`"),
        ("0 2 * * * ls", "the command is the schedule's target"),
        ("0 2 * * * *", "did you mean `2 * * * *`? If the last is a year, write `0 2 * * *`"),
        ("0 2 * * * *", "`cron(0 2 * * ? *)`"),
        ("0 2 * * * *", "and then `*` (character 11)"),
        ("* * * * * *", '{"every": "1s"}'),
        ("0/5 * * * * ?", '{"every": "5s"}'),
        ("0 0 12 ? * 2", "did you mean `0 12 ? * MON`?"),
        ("0 9 ? * 2-6 *", "write `cron(0 9 ? * 2-6 *)`; or did you mean `0 9 ? * MON-FRI`?"),
        ("@reboot", "one-shot"),
        ("@fortnightly", "@weekly"),
        ("CRON_TZ=UTC 0 2 * * *", "`timezone`"),
        ("cron(0 2 * * ? *)", "AWS"),
        ("rate(5 minutes)", "AWS"),
        ("H H * * *", "jitter_seconds"),
        ("R * * * *", "jitter_seconds"),
        ("H(0-29)/10 * * * *", "jitter_seconds"),
        ("0 0 * * MONDAY", "`MON`"),
        ("0 0 * january *", "`JAN`"),
        ("0 0 * * feb", "fourth field"),
        ("0 0 * MON *", "fifth field"),
        ("0 0 * * MON#L", "`MONL`"),
        ("0 0 5#2 * *", "`MON#2`, is the fifth field"),
        ("0 0 * * 1#-1", "`1L`"),
        ("0 0 * * weekday", "`MON-FRI`"),
        ("0 0 * * MON FRI", "did you mean `0 0 * * MON,FRI`?"),
        ("0 9pm * * *", "`21`"),
        ("0~30 * * * *", "jitter_seconds"),
        ('"0 2 * * *"', "did you mean `0 2 * * *`?"),
        ("'" * 120 + "0 2 * * *" + "'" * 120, "minute"),
        ("TZ = UTC 0 2 * * *", "`timezone`"),
        ("0 2 * *", "ends after `*` (character 7)"),
        ("0 2 * * * # nightly", "`#` (character 11)"),
        ("0 24 * * *", "midnight is hour 0"),
        ("60 * * * *", "the full hour is minute 0"),
        ("0 0 5 20 *", "did you mean `0 0 20 5 *`?"),
        ("0 0 * * 8", "is not in 0–7"),
        ("0 0 * * 6/1", "1-5/2"),
        ("0 0 * * L5", "`5L`"),
        ("0 0 * * L", "`6L`"),
        ("0 0 W15 * *", "`15W`"),
        ("0 0 L-0 * *", "the last day itself is `L`"),
        ("0 0 L-31 * *", "`L-30`"),
        ("0 0 32W * *", "is not in 1–31"),
        ("0 0 0W * *", "is not in 1–31"),
        ("0 0 1-5W * *", "day of month"),
        ("0 0 * * 1-5#2", "`MON#2`"),
        ("0 0 * * 1#6", "`#5`"),
        ("0 ? * * *", "write `*`"),
        ("0 0 ?/2 * *", "write `*`"),
        ("0 L * * *", "day of month"),
        ("*/0 * * * *", "step of 0"),
        ("*/+5 * * * *", "step"),
        ("1-9/2/3 * * * *", "step"),
        ("5-* * * * *", "`5-*`"),
        ("+5 * * * *", "range"),
        ("0x5 * * * *", "`0x5`"),
        ("1_0 * * * *", "`1_0`"),
        ("0 2 * * *\n0 3 * * *", "one expression of its own"),
        ("0 2–4 * * *", "`0 2-4 * * *`"),
        ("0\u00a02 * * *", "U+00A0"),
        ("０ 2 * * *", "`0 2 * * *`"),
        ("0 2 * * *\x00", "U+0000"),
        ("0 2 * * *\x1b[0m", "U+001B"),
        ("", "is empty"),
        (" \t ", "is empty"),
        ("0 2 * * *" + " " * 300, f"at most {LONGEST_EXPRESSION}"),
        ("9" * 200 + " * * * *", "is not in 0–59"),
    ],
)
def test_what_is_refused_says_what_was_probably_meant(text: str, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        cron.parse(text)
    assert refused.value.field == "cron"
    assert says in refused.value.reason


def test_nothing_is_suggested_that_would_be_refused_as_well() -> None:
    """`0 * * *; rm` was."""
    with pytest.raises(Invalid) as refused:
        expand("0 0 * * *; rm -rf /")
    assert "did you mean" not in refused.value.reason


_PARTS = ["0", "*", "?", "00", "5", "12", "31", "32", "2027", "MON", "sun", "JAN", "L", "LW", "15W", "5L", "2#1", "1-5"]
_FORMS = ["{}", "cron({})", "Cron ({})", "'{}'"]
_PARTS += ["*/5", "0/61", "mon-", "1,,2", "~", "H", "#x", "\u2013", "\uff10"]


@given(parts=st.lists(st.sampled_from(_PARTS), min_size=3, max_size=8), form=st.sampled_from(_FORMS))
@example(parts=["2", "29", "0", "0", "*"], form="{}")
@example(parts=["0", "0", "*", "*", "MON", "31"], form="{}")
def test_whoever_follows_a_suggestion_is_not_refused_again(parts: list[str], form: str) -> None:
    text = form.format(" ".join(parts))
    try:
        parse_trigger({"cron": text, "timezone": "UTC"}, 0)
    except Invalid as error:
        suggested = re.findall(r"(?:did you mean|year, write|of AWS:? (?:write )?)\s*`([^`]+)`", error.reason)
        for one in suggested:
            if len(one.split()) >= 5:  # else it is an item, or a range
                bare = {"dialect": "aws"} if text.startswith("cron(") and "(" not in one else {}
                assert parse_trigger({"cron": one, "timezone": "UTC", **bare}, 0)


def test_swapped_minute_and_hour_are_offered_the_right_way_round() -> None:
    with pytest.raises(Invalid, match=r"did you mean `25 0 \* \* \*`\?"):
        expand("0 25 * * *")


@pytest.mark.parametrize(
    "text",
    ["0 0 31 2 *", "0 0 30 FEB ?", "0 0 31 4,6,9,11 *", "0 0 L-29 2 *", "0 0 15W * */6", "0 0 */32,1-7 * 1#5"],
)
def test_an_expression_that_names_no_day_of_any_year_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="can never fire"):
        cron.parse(text)


@pytest.mark.parametrize(
    "text", ["0 0 29 2 *", "0 0 29 2 */7", "0 0 31 4 1", "0 0 L-28 2 *", "0 0 29W 2 *", "0 0 * 2 1#5", "0 0 31W 2,3 *"]
)
def test_an_expression_that_fires_rarely_is_accepted(text: str) -> None:
    cron.parse(text)


@pytest.mark.parametrize("value", [None, 5, ["*"] * 5, b"* * * * *", True])
def test_an_expression_that_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(Invalid, match="must be text"):
        normalise(value)


@given(st.text(max_size=40) | st.text(alphabet="0123456789*/,-#?LW @MONJAH\t", max_size=40))
def test_any_text_is_either_accepted_or_refused_with_a_reason(text: str) -> None:
    refused = None
    try:
        cron.parse(text)
    except Invalid as error:
        refused = error
    assert refused is None or (refused.field == "cron" and refused.reason)


@given(expressions())
def test_letter_case_and_blanks_mean_nothing(text: str) -> None:
    assert expand(text) == expand(text.lower()) == expand("  " + text.replace(" ", "\t "))
