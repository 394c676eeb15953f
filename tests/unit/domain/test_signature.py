"""Failure signatures: what is the same about failures, and what keeps them apart."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.signature import DIGEST, MAX_TEMPLATE, blotted, signature_of

SAME = [
    ("KeyError: 'amount'", "KeyError: 'total'"),
    ("HTTP 503: upstream took 1200 ms", "HTTP 503: upstream took 87.5 ms"),
    ("order 7f9c2ba4e88f827d616045507605853e is locked", "order 6512bd43d9caa6e02c990b0a82652dca is locked"),
    (
        "no row for 123e4567-e89b-12d3-a456-426614174000",
        "no row for 9b2fd0a8-30c1-4f5f-8f27-1f1a6a3f6f10",
    ),
    ("cannot reach https://a.example/pay?id=7", "cannot reach https://b.example:8443/refund"),
    ("connect to 10.0.0.7:5432 refused", "connect to 192.168.1.40:6543 refused"),
    ("connect to [2001:db8::1] refused", "connect to [fe80::aa:1] refused"),
    ("mail to asha@example.org bounced", "mail to b.rao+x@mail.example.com bounced"),
    ("MemoryError at 0x7f3a2b", "MemoryError at 0x55d0ffff"),
    ("FileNotFoundError: /var/data/2026/12.csv", "FileNotFoundError: /var/data/2027/01.csv"),
    ("due 2026-12-01T02:00:00Z", "due 2027-01-31T23:59:59Z"),
    ("row  17\n is   bad", "row 4 is bad"),
    ('bad value "seven', 'bad value "eight and a half'),
    ("message msg_2YkZq81bTfX9 lost", "message msg_8aPpL20cHjK1 lost"),
]

APART = [
    ("HTTP 503", "HTTP 404"),
    ("its process ended with exit code 1 and no result", "its process ended with exit code 137 and no result"),
    ("KeyError: 'amount'", "ValueError: 'amount'"),
    ("connect to 10.0.0.7:5432 refused", "connect to 10.0.0.7:5432 timed out"),
    ("can't open the door", "can't close the door"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_failures_that_differ_in_numbers_ids_quotes_or_addresses_have_one_signature(one: str, other: str) -> None:
    assert signature_of("failed", one, "handler") == signature_of("failed", other, "handler")


@pytest.mark.parametrize(("one", "other"), APART)
def test_failures_of_another_kind_have_another_signature(one: str, other: str) -> None:
    assert signature_of("failed", one).digest != signature_of("failed", other).digest


def test_how_it_ended_and_what_was_called_tell_failures_apart() -> None:
    said = [
        signature_of(outcome, "no answer", target) for outcome in ("failed", "timed_out") for target in ("", "webhook")
    ]
    assert len({one.digest for one in said}) == 4


def test_a_template_is_readable() -> None:
    error = "HTTP 503: tenant 'acme' order 4711 at https://pay.example/v1"
    found = signature_of("failed", error, "webhook")
    assert found.template == "webhook failed: HTTP 503: tenant <text> order <n> at <address>"
    assert DIGEST.fullmatch(found.digest)


def test_a_failure_that_said_nothing_has_a_signature() -> None:
    assert signature_of("lost", None).template == "lost"


@given(st.text(max_size=3_000))
def test_any_text_has_a_bounded_signature_in_one_line(error: str) -> None:
    found = signature_of("failed", error)
    assert len(found.template) <= MAX_TEMPLATE
    assert "\n" not in found.template
    assert found == signature_of("failed", error)


@pytest.mark.parametrize("part", ["a", "1", "'", '"', "/a", ":", "a@", "a-", "0x", "1.", "é1", "http://", "[:"])
def test_no_text_takes_long(part: str) -> None:
    began = time.process_time()
    blotted(part * 5_000)
    assert time.process_time() - began < 0.2
