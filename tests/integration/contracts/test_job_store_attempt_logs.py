"""What every job store promises about the logs of attempts."""

from dataclasses import replace

from cronfleet.domain.attempt_log import MAX_LINE_CHARACTERS, AttemptLog, LogLine, LogPlace
from cronfleet.domain.instant import SECOND
from tests.support.examples import run
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

KEY = run().key
SAID = AttemptLog(
    KEY,
    1,
    NOON + 9,
    (LogLine(NOON, "INFO", "grüße, 世界"), LogLine(NOON + 1, "ERROR", "half a pair: \ud83d\nand a second line")),
    is_whole=False,
    place=LogPlace("us-east-1", "/aws/lambda/worker", "2026/12/01/[$LATEST]abc", "r-1"),
)


def test_a_log_is_read_back_as_it_was_kept(engine: Engine) -> None:
    engine.store.put_log(SAID)
    assert engine.store.get_log(KEY, 1) == SAID
    plain = AttemptLog(KEY, 2, NOON, ())
    engine.store.put_log(plain)
    assert engine.store.get_log(KEY, 2) == plain


def test_each_attempt_of_each_run_has_a_log_of_its_own(engine: Engine) -> None:
    engine.store.put_log(SAID)
    assert engine.store.get_log(KEY, 2) is None
    assert engine.store.get_log(replace(KEY, cause="manual-1"), 1) is None


def test_a_later_log_of_an_attempt_takes_the_place_of_an_earlier_one(engine: Engine) -> None:
    engine.store.put_log(SAID)
    later = replace(SAID, kept_at=NOON + 99, lines=(), is_whole=True, place=None)
    engine.store.put_log(later)
    assert engine.store.get_log(KEY, 1) == later


def test_a_log_can_be_forgotten_whether_it_is_there_or_not(engine: Engine) -> None:
    engine.store.put_log(SAID)
    engine.store.forget_log(KEY, 1)
    engine.store.forget_log(KEY, 1)
    assert engine.store.get_log(KEY, 1) is None


def test_the_longest_log_can_be_kept_and_read(engine: Engine) -> None:
    lines = tuple(LogLine(NOON + n * SECOND, "INFO", chr(0x1F600 + n) * (MAX_LINE_CHARACTERS // 4)) for n in range(8))
    long = replace(SAID, lines=lines, kept_days=90)
    engine.store.put_log(long)
    assert engine.store.get_log(KEY, 1) == long
