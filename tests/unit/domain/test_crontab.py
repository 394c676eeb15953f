"""Crontabs as people write them: each test tells the story of a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain import crontab, imported
from cronfleet.domain.crontab import Options, assignment, halves, read
from cronfleet.domain.crontab_form import Form
from cronfleet.domain.errors import Invalid

DEBIAN = """\
# /etc/crontab: system-wide crontab
# These files also have username fields, that none of the other crontabs do.

SHELL=/bin/sh
# Example of job definition:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |  |  |  |
# *  *  *  *  * user-name command to be executed
17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
#
"""


def one(text, **options):
    sheet = read(text, Options(**options))
    assert not sheet.refusals, sheet.refusals
    (candidate,) = sheet.candidates
    return candidate


def reason(text, **options):
    sheet = read(text, Options(**options))
    assert not sheet.candidates, sheet.candidates
    return sheet.refusals[-1].reason


def accounted(sheet):
    lines = sum(sheet.counts[kind] for kind in ("blank", "comments", "assignments"))
    return lines + len(sheet.candidates) + len(sheet.refusals)


# --- the two forms ---------------------------------------------------------------------------------------------


def test_the_system_s_crontab_is_recognised_and_names_the_user_of_each_job():
    sheet = read(DEBIAN, Options())
    hourly, daily = sheet.candidates
    assert hourly.payload["user"] == daily.payload["user"] == "root"
    assert hourly.payload["command"] == "cd / && run-parts --report /etc/cron.hourly"
    assert hourly.labels["user"] == "root"
    assert "system form" in sheet.notes[0]
    assert hourly.description == "", "the ruler above the columns describes no job"
    assert accounted(sheet) == sheet.counts["lines"] == 12


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0 4 * * * php /var/www/artisan schedule:run", Form.USER),
        ("0 4 * * * /usr/bin/backup --all", Form.USER),
        ("0 4 * * * backup.sh /home", Form.USER),
        ("0 4 * * * git pull", Form.USER),
        ("0 4 * * * FOO=1 make -C /srv", Form.USER),
        ("0 4 * * * [ -x /bin/x ] && /bin/x", Form.USER),
        ("0 4 * * * uptime", Form.USER),
        ("0 4 * * * deploy /srv/app/run", Form.SYSTEM),
        ("0 4 * * * clamav [ -x /bin/x ] && /bin/x", Form.SYSTEM),
        ("0 4 * * * amavis test -e /x && /x", Form.SYSTEM),
        ("@daily www-data php /x.php", Form.SYSTEM),
        ("# m h dom mon dow user command\n0 4 * * * alice reindex", Form.SYSTEM),
        ("0 4 * * * alice reindex", Form.USER),
    ],
)
def test_the_form_is_found_out_by_what_stands_before_the_commands(text, form):
    assert f"the {form} form" in read(text, Options()).notes[0]


def test_a_job_that_is_plain_decides_for_those_that_are_not():
    text = "30 7 * * * root /x\n0 1 * * * user somecommand\n0 2 * * * user somecommand\n@yearly foo a command"
    assert [one.payload["user"] for one in read(text, Options()).candidates] == ["root", "user", "user", "foo"]
    text = "# *  *  *  *  * user-name command to be executed\n0 4 * * * /srv/warn\n0 5 * * * alice /srv/x"
    assert {one.payload["user"] for one in read(text, Options()).candidates} == {None}


def test_whoever_knows_the_form_says_so_by_name_or_by_path():
    assert one("0 4 * * * alice reindex", form=Form.SYSTEM).payload["user"] == "alice"
    assert one("0 4 * * * alice reindex", path="web1:/etc/cron.d/search").payload["command"] == "reindex"
    assert one("0 4 * * * alice /x", path="/var/spool/cron/crontabs/bob").payload["command"] == "alice /x"


def test_a_path_that_the_file_plainly_contradicts_does_not_decide():
    sheet = read("0 0 * * * /usr/bin/freshclam", Options(path="etc/crontab"))
    assert sheet.candidates[0].payload["command"] == "/usr/bin/freshclam"
    assert "though etc/crontab should have the system form" in sheet.notes[0]
    mixed = read("0 0 * * * root /x\n0 1 * * * /y", Options(path="etc/crontab"))
    assert (mixed.candidates[0].payload["user"], len(mixed.refusals)) == ("root", 1)


def test_in_the_system_form_a_command_without_its_user_is_refused():
    assert "'/usr/bin/x' where the system form has the user" in reason("0 4 * * * /usr/bin/x y", form=Form.SYSTEM)
    assert "no command after its times and its user" in reason("0 4 * * * root", form=Form.SYSTEM)


# --- commands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("date +\\%F", "date +%F", None),
        ("mail -s hi joe%Joe,%%Where are you?%", "mail -s hi joe", "Joe,\n\nWhere are you?\n"),
        ("cat%50\\% off%", "cat", "50% off\n"),
        ("cat %", "cat", ""),
        ("echo a # b", "echo a # b", None),
        ("sed 's/\\\\/x/'", "sed 's/\\\\/x/'", None),
        ("date +\\\\%F", "date +\\\\", "F\n"),
        ("cat%a\\\\%b", "cat", "a\\%b\n"),
        ("echo \\", "echo \\", None),
    ],
)
def test_the_first_percent_sign_begins_the_standard_input_unless_it_is_escaped(text, command, stdin):
    assert halves(text) == (command, stdin)


def test_a_hash_within_a_line_is_part_of_the_command():
    assert one("0 4 * * * /x  # nightly").payload["command"] == "/x  # nightly"


def test_tabs_blanks_at_the_end_crlf_and_a_missing_last_line_end_do_not_matter():
    candidate = one("\t0  4\t* * *   /x y \t\r\n", timezone="UTC")
    assert (candidate.trigger["cron"], candidate.payload["command"]) == ("0 4 * * *", "/x y")
    assert one("0 4 * * * /x y").identity == candidate.identity


def test_a_line_of_a_latin_1_file_says_so():
    sheet = read("0 4 * * * echo caf\u00e9", Options(), frozenset({1}))
    assert "Latin-1" in sheet.candidates[0].notes[0]
    assert "no text" in reason("0 4 * * * echo caf\ufffd")


def test_suse_s_minus_and_bsd_s_flags_are_taken_off_with_a_word():
    quiet = one("-*/15 * * * * root /x", form=Form.SYSTEM)
    assert quiet.trigger["cron"] == "*/15 * * * *"
    assert "`-` in front" in quiet.notes[0]
    single = one("* * * * * root -s /x", form=Form.SYSTEM)
    assert (single.payload["command"], single.policies["overlap"]) == ("/x", "skip")


# --- assignments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ('MAILTO=""', "MAILTO", ""),
        ("PATH = /bin:/usr/bin", "PATH", "/bin:/usr/bin"),
        ("  'A B' = 'c d' ", "A B", "c d"),
        ('X="a" # why', "X", "a"),
        ("X=a b # c", "X", "a b # c"),
        ("X=", "X", ""),
        ("LS_COLORS=di=1:ln=2", "LS_COLORS", "di=1:ln=2"),
    ],
)
def test_an_assignment_is_read_as_cron_reads_it(line, name, value):
    assert crontab.assignment(line) == (name, value)


def test_an_assignment_holds_for_what_stands_below_it():
    first, second = read("0 1 * * * a\nX=1\nMAILTO=ops@example.com\n0 2 * * * b", Options()).candidates
    assert first.payload["environment"] == {}
    assert second.payload["environment"] == {"X": "1", "MAILTO": "ops@example.com"}
    assert second.labels["mailto"] == "ops@example.com"


def test_a_variable_before_the_command_is_no_assignment():
    assert one("*/5 * * * * FOO=bar /x").payload["command"] == "FOO=bar /x"


def test_cron_tz_is_the_zone_of_what_stands_below_it():
    text = "0 1 * * * a\nCRON_TZ=Asia/Tokyo\n0 2 * * * b\nCRON_TZ = 'UTC'\n0 3 * * * c"
    zones = [one.trigger["timezone"] for one in read(text, Options(timezone="Europe/Paris")).candidates]
    assert zones == ["Europe/Paris", "Asia/Tokyo", "UTC"]


def test_a_zone_that_is_none_refuses_the_jobs_that_it_would_be_the_zone_of():
    sheet = read("CRON_TZ=Mars/Olympus\n0 2 * * * b\n@reboot c", Options())
    assert [refusal.line for refusal in sheet.refusals] == [2, 3]
    assert "Mars/Olympus" in sheet.refusals[0].reason


def test_tz_is_the_command_s_zone_where_the_machine_s_is_known_and_the_best_guess_where_not():
    text = "TZ=Asia/Tokyo\n0 2 * * * b"
    known = one(text, timezone="UTC")
    assert known.trigger["timezone"] == "UTC"
    assert "not of its times" in known.notes[0]
    guessed = one(text)
    assert guessed.trigger["timezone"] == "Asia/Tokyo"
    assert "command's alone" in guessed.notes[0]
    assert one(text, timezone="UTC", tz_is_of_times=True).trigger["timezone"] == "Asia/Tokyo"
    assert one(text, tz_is_of_times=False).trigger["timezone"] == "UTC"


def test_a_zone_before_the_times_is_that_of_the_one_job():
    sheet = read("CRON_TZ=Asia/Tokyo 0 2 * * * a\n0 2 * * * b", Options(timezone="UTC"))
    assert [one.trigger["timezone"] for one in sheet.candidates] == ["Asia/Tokyo", "UTC"]


def test_without_any_zone_utc_is_taken_and_said():
    sheet = read("0 2 * * * a", Options())
    assert sheet.candidates[0].trigger["timezone"] == "UTC"
    assert "no timezone was given" in sheet.notes[1]


def test_cronie_s_random_delay_is_a_jitter():
    assert one("RANDOM_DELAY=45\n0 2 * * * a").policies["jitter_seconds"] == 2700


# --- what is said above a line ---------------------------------------------------------------------------------


def test_the_comment_right_above_a_job_describes_it_and_no_other():
    text = "# Old.\n\n# Backups\n# of the night\n0 1 * * * a\n0 2 * * * b\n# for c\nX=1\n0 3 * * * c"
    assert [one.description for one in read(text, Options()).candidates] == ["Backups\nof the night", "", ""]


def test_a_comment_with_a_range_in_it_is_no_ruler():
    assert (
        one("# Keep months 3-9\n# and chapters 1-12\n0 4 * * * /x").description == "Keep months 3-9\nand chapters 1-12"
    )


def test_a_ruler_of_any_make_describes_nothing():
    for ruler in (
        "# m h  dom mon dow   command",
        "#minute\thour\tmday",
        "# ┌── minute  (0–59)\n# │ ┌─ day of week\n# │ │",
    ):
        assert one(f"# About this file\n{ruler}\n0 4 * * * /x").description == ""


def test_a_job_that_was_switched_off_describes_nothing_and_is_counted():
    sheet = read("# Nightly\n#0 1 * * * old --job\n# @daily older\n0 2 * * * new", Options())
    assert sheet.candidates[0].description == "Nightly"
    assert sheet.counts["switched_off"] == 2


# --- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("@reboot /x", "a fleet has no boot"),
        ("@fortnightly /x", "the macros are"),
        ("0 25 * * * /x", "hour `25`"),
        ("0 0 30 2 * /x", "2"),
        ("0 4 * *", "not five"),
        ("0 4 * * *", "no command after its times"),
        ("0 4 * * * * /x", "6 fields"),
        ("*/10 * * * * * /x", '{"every": "10s"}'),
        ("H 4 * * * /x", "jitter_seconds"),
        ("hello world", "not five"),
        ("1 5 cron.daily nice run-parts /etc/cron.daily", "anacrontab"),
        ("@monthly 45 cron.monthly nice run-parts /etc/cron.monthly", "anacrontab"),
        ("{{ minute }} 4 * * * /x", "template"),
        ("0 4 * * * {{ app_dir }}/run.sh", "template"),
        ("{% for job in jobs %}", "template"),
        ("PATH=/bin:{{ prefix }}/bin", "template"),
        ("<%= @minute %> 4 * * * /x", "template"),
        ("${MINUTE} 4 * * * /x", "template"),
        ("$(shuf -i 0-59 -n1) 4 * * * /x", "template"),
        ("0 4 * * * /x\0y", "no text"),
        ("0 4 * * * " + "x" * crontab.LONGEST_LINE, "characters"),
    ],
)
def test_what_cannot_become_a_schedule_is_refused_with_its_reason(line, said):
    assert said in reason(line)


def test_a_format_of_go_is_no_template():
    assert one("0 4 * * * docker ps --format '{{.Names}}' | xargs x").payload["user"] is None
    assert one("0 4 * * * docker inspect -f '{{json .State}}' db").name == "docker"


def test_a_line_that_goes_on_after_a_backslash_is_refused_and_the_first_says_so():
    sheet = read("0 4 * * * /x \\\n  --more", Options())
    assert "backslash" in sheet.candidates[0].notes[0]
    assert "continued" in sheet.refusals[0].reason


def test_an_anacrontab_is_refused_as_a_whole():
    text = "START_HOURS_RANGE=3-22\n1 5 daily run\n@monthly 15 monthly run"
    assert len(read(text, Options()).refusals) == 2


def test_robfig_s_every_is_an_interval_of_the_full_clock():
    assert one("@every 1h30m /x").trigger == {"every": "90m", "anchor": "1970-01-01T00:00:00Z"}
    assert "no duration" in reason("@every soon /x")
    assert one("@every_second /x").trigger["every"] == "1s"
    assert one("@every_minute /x").trigger["cron"] == "* * * * *"


def test_a_file_of_too_many_lines_is_refused_whole():
    with pytest.raises(Invalid, match="Send it in parts"):
        read("\n" * (crontab.MAX_LINES + 1), Options())


# --- identity --------------------------------------------------------------------------------------------------


def ids(text):
    return [imported.schedule_id("crontab", "web1", one) for one in read(text, Options()).candidates]


def test_a_job_keeps_its_id_when_its_time_or_its_place_changes_and_a_second_of_the_same_command_has_its_own():
    before = ids("0 1 * * * /x a\n0 2 * * * /y\n0 3 * * * /x a")
    assert ids("# moved\n30 2 * * * /y\n5 1 * * * /x a\n0 3 * * * /x a") == [before[1], before[0], before[2]]
    assert len(set(before)) == 3
    assert before[0].startswith("x-")


_CHARACTERS = st.text(alphabet=st.sampled_from("0*/5 \t\n\r#@%\\=\"'{}-a.A\x0b\x85\xa0\u2028"), max_size=200)
_LINES = st.lists(
    st.sampled_from(["@every", "@daily", "TZ=UTC", "0 1 * * *", "root", "-s", " ", "\n", "\xa0", "%"])
).map("".join)


@given(_CHARACTERS | _LINES)
def test_every_line_of_any_text_is_accounted_for(text):
    sheet = read(text, Options())
    assert accounted(sheet) == sheet.counts["lines"]


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\x0b", "\x1f", "\x85"])
@pytest.mark.parametrize("form", [Form.USER, Form.SYSTEM, None])
def test_what_only_looks_like_a_blank_is_refused_as_in_a_schedule(blank, form):
    lines = [
        f"{blank}0 2 * * * root /bin/x",
        f"0{blank} 2 * * * root /bin/x",
        "0 3 * * * root /y",
        f"0 4 * * * {blank}",
    ]
    refused = {one.line: one.reason for one in read("\n".join(lines), Options(form=form)).refusals}
    assert {1, 2} <= refused.keys() <= {1, 2, 4}
    assert "not plain ASCII" in refused[1]
    assert "not plain ASCII" in refused[2]


def test_a_wrong_day_of_month_is_no_line_of_an_anacrontab():
    assert "day of month `MON` (character 5)" in reason("0 0 MON */2 * /bin/x")
    assert "anacrontab" in reason("7 10 cron.weekly run-parts /etc/cron.weekly")


def test_what_crontab_itself_writes_above_a_file_describes_no_job():
    text = (
        "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n"
        "# (/tmp/crontab.a1b2/crontab installed on Sun Nov 29 10:00:00 2026)\n"
        "# (Cron version -- $Id: crontab.c,v 2.13 1994/01/17 03:20:37 vixie Exp $)\n"
    )
    assert one(f"{text}0 1 * * * /x").description == ""
    assert one(f"{text}# Installed on demand (Cron)\n0 1 * * * /x").description == "Installed on demand (Cron)"


@pytest.mark.parametrize("form", [Form.USER, Form.SYSTEM])
@pytest.mark.parametrize("blank", ["\u00a0", "\u2028", "\x85"])
def test_every_nothing_but_what_looks_like_a_blank_is_refused(blank, form):
    assert "is no duration" in read(f"@every {blank}", Options(form=form)).refusals[0].reason


def test_long_lines_are_read_in_one_pass():
    """Each of these once took seconds."""
    blanks = " " * 16_000
    lines = [
        f"A=b{blanks}c",
        f"CRON_TZ=UTC{blanks}x",
        "<%" * 8_000,
        "# " + "min " * 4_000,
        f"0 1 * * * /x{blanks}y",
    ] * 40
    sheet = read("\n".join(lines), Options())
    assert sheet.counts["assignments"] == 80
    assert assignment(lines[0]) == ("A", f"b{blanks}c")
