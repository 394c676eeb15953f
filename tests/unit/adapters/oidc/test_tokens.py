"""Tokens: only the provider's own, for this installation, that hold now; and its keys are fetched rarely."""

import threading
import time
from collections.abc import Iterator

import jwt
import pytest

from cronfleet.adapters.oidc import fetching, key_set
from cronfleet.adapters.oidc.fetching import MAX_BYTES, is_safe
from cronfleet.adapters.oidc.key_set import FRESH_FOR, RETRY_EVERY, UNKNOWN_EVERY, USED_FOR
from cronfleet.adapters.oidc.tokens import OidcTokens
from cronfleet.domain.instant import SECOND
from cronfleet.ports.job_store import NoAnswer
from cronfleet.settings import Oidc
from tests.support.identity_provider import (
    Provider,
    ec_key,
    identity_provider,
    jwk_of,
    rsa_key,
    wrong_tokens,
)
from tests.support.settable_clock import SettableClock

OF_THE_BEARER = (
    "an empty subject",
    "a subject that cannot be printed",
    *(f"{start} tenant{end}" for start, end in (("no", ""), ("a", " that is no id"), ("a", " that is not there"))),
    "several tenants",
    *(f"{start} role{end}" for start, end in (("no", ""), ("a", " that is none"), ("a", " that is no text"))),
    "roles that are none",
)
"""Soundly signed: what they say is judged elsewhere."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with identity_provider() as running:
        yield running


@pytest.fixture(autouse=True)
def as_new(provider: Provider) -> None:
    issuer = provider.issuer
    Provider.__init__(provider)
    provider.issuer = issuer


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def tokens(provider: Provider, clock: SettableClock) -> OidcTokens:
    return OidcTokens(provider.oidc, clock)


def test_a_token_of_the_provider_says_what_it_says(provider: Provider, tokens: OidcTokens) -> None:
    assert tokens.claims(provider.token()) == provider.claims()
    assert tokens.claims(provider.token("ec-1", ec_key(), "ES256", aud=["other", "cronfleet"])) is not None
    assert tokens.credential == "jwt:127.0.0.1"


def test_no_other_token_says_anything(provider: Provider, tokens: OidcTokens) -> None:
    wrong = {name: token for name, token in wrong_tokens(provider).items() if name not in OF_THE_BEARER}
    assert len(wrong) > 15
    assert {name for name, token in wrong.items() if tokens.claims(token) is not None} == set()


@pytest.mark.parametrize("junk", ["a.b.c", "..", "e30.e30.e30", f"{'W1tb' * 1_500}.e30.", "bnVsbA.e30.x"])
def test_junk_is_no_token(tokens: OidcTokens, junk: str) -> None:
    assert tokens.claims(junk) is None


def test_an_algorithm_that_the_installation_left_out_is_none(provider: Provider, clock: SettableClock) -> None:
    only_es256 = OidcTokens(Oidc(provider.issuer, "cronfleet", "", ("ES256",)), clock)
    assert only_es256.claims(provider.token()) is None
    assert only_es256.claims(provider.token("ec-1", ec_key(), "ES256")) is not None


def test_the_keys_are_fetched_once_for_many_tokens(provider: Provider, tokens: OidcTokens) -> None:
    for _ in range(5):
        assert tokens.claims(provider.token()) is not None
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]


def test_where_the_keys_are_may_be_set_and_is_then_not_asked(provider: Provider, clock: SettableClock) -> None:
    tokens = OidcTokens(Oidc(provider.issuer, "cronfleet", f"{provider.issuer}/other"), clock)
    assert tokens.claims(provider.token()) is not None
    assert provider.asked == ["/other"]


def test_a_new_key_is_found_and_whoever_invents_names_of_keys_causes_no_storm(
    provider: Provider, tokens: OidcTokens, clock: SettableClock
) -> None:
    tokens.claims(provider.token())
    provider.keys.append(jwk_of(rsa_key(1), "rsa-2"))
    provider.asked.clear()
    for number in range(50):
        assert tokens.claims(provider.token(key_id=f"invented-{number}")) is None
    assert provider.asked == []
    clock.advance(UNKNOWN_EVERY)
    assert tokens.claims(provider.token("rsa-2", rsa_key(1))) is not None
    for number in range(50):
        assert tokens.claims(provider.token(key_id=f"invented-{number}")) is None
    assert len(provider.asked) == 2


def test_a_key_that_the_provider_took_back_is_not_taken_for_longer_than_an_hour(
    provider: Provider, tokens: OidcTokens, clock: SettableClock
) -> None:
    assert tokens.claims(provider.token()) is not None
    provider.keys = provider.keys[1:]
    clock.advance(FRESH_FOR)
    assert tokens.claims(provider.token()) is None


def test_a_provider_that_is_down_is_no_refusal_and_what_is_known_goes_on_for_a_day(
    provider: Provider, tokens: OidcTokens, clock: SettableClock
) -> None:
    provider.status = 503
    with pytest.raises(NoAnswer):
        tokens.claims(provider.token())
    provider.status = 200
    with pytest.raises(NoAnswer):
        tokens.claims(provider.token())
    clock.advance(RETRY_EVERY)
    assert tokens.claims(provider.token()) is not None
    provider.status = 503
    clock.advance(USED_FOR - SECOND)
    asked = len(provider.asked)
    assert tokens.claims(provider.token()) is not None
    assert tokens.claims(provider.token()) is not None
    assert len(provider.asked) == asked + 1
    clock.advance(RETRY_EVERY)
    with pytest.raises(NoAnswer):
        tokens.claims(provider.token())


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"no json",
        b'{"issuer": "https://id.example.com", "jwks_uri": "https://id.example.com/keys"}',
        b'{"keys": []}',
        b"x" * (MAX_BYTES + 1),
        b"[" * 100_000,
    ],
)
def test_what_is_no_key_set_is_no_answer(provider: Provider, tokens: OidcTokens, content: bytes) -> None:
    provider.content = content
    with pytest.raises(NoAnswer):
        tokens.claims(provider.token())


def test_a_redirect_is_not_followed(provider: Provider, tokens: OidcTokens) -> None:
    provider.status, provider.headers = 302, {"location": f"{provider.issuer}/elsewhere"}
    with pytest.raises(NoAnswer):
        tokens.claims(provider.token())
    assert provider.asked == ["/.well-known/openid-configuration"]


def test_a_provider_that_says_nothing_is_given_up(
    provider: Provider, tokens: OidcTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "READ_SECONDS", 0.05)
    gate = threading.Event()
    monkeypatch.setattr(provider, "answer", lambda _path: (gate.wait(5) and b"") or b"")
    try:
        with pytest.raises(NoAnswer):
            tokens.claims(provider.token())
    finally:
        gate.set()


def test_keys_that_are_weak_or_for_something_else_are_left_out(provider: Provider, tokens: OidcTokens) -> None:
    provider.keys = [
        jwk_of(rsa_key(2, 1_024), "weak"),
        jwk_of(rsa_key(1), "for encryption", use="enc"),
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        {"kty": "unheard of", "kid": "new"},
        "no object",
        jwk_of(rsa_key(), "rsa-1", use="sig", alg="RS256"),
    ]
    assert tokens.claims(provider.token()) is not None
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = provider.token("weak", rsa_key(2, 1_024))
    assert tokens.claims(weak) is None
    assert tokens.claims(provider.token("for encryption", rsa_key(1))) is None
    assert tokens.claims(provider.token("shared", "secret" * 8, "HS256")) is None


def test_more_keys_than_any_provider_has_are_not_all_read(provider: Provider, tokens: OidcTokens) -> None:
    provider.keys = [jwk_of(rsa_key(), f"k{number}") for number in range(key_set.MAX_KEYS + 1)]
    assert tokens.claims(provider.token("k0")) is not None
    assert tokens.claims(provider.token(f"k{key_set.MAX_KEYS}")) is None


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://id.example.com/keys", True),
        ("http://127.0.0.1:8080/keys", True),
        ("http://[::1]/keys", True),
        ("http://localhost/keys", True),
        ("http://id.example.com/keys", False),
        ("http://localhost.example.com/keys", False),
        ("file:///etc/passwd", False),
        ("https:///keys", False),
        ("", False),
    ],
)
def test_keys_come_over_tls_or_from_this_machine(url: str, safe: bool) -> None:
    assert is_safe(url) == safe


def test_a_token_that_ended_a_moment_ago_by_our_clock_may_still_hold_by_the_providers(
    provider: Provider, tokens: OidcTokens
) -> None:
    now = int(time.time())
    assert tokens.claims(provider.token(exp=now - 2)) is not None
    assert tokens.claims(provider.token(exp=now - 30)) is None
