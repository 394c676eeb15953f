"""Secrets in targets: names of the tenant's own, and nothing that could be a secret itself, in any answer or entry."""

import pytest

from tests.support.api import Api

WITH_SECRETS = {"handler": "billing.nightly", "secrets": {"B": "cronfleet/acme/b", "A": "cronfleet/acme/a"}}


def test_a_handlers_secrets_are_kept_and_shown_as_names(api: Api) -> None:
    made = api.register(target=WITH_SECRETS)
    assert made.status == 201
    assert made.json["target"] == {**WITH_SECRETS, "secrets": {"A": "cronfleet/acme/a", "B": "cronfleet/acme/b"}}
    assert api.call("GET", "/v1/schedules/nightly").json["target"] == made.json["target"]


def test_a_patch_changes_one_secret_and_takes_another_away(api: Api) -> None:
    api.register(target=WITH_SECRETS)
    patch = {"target": {"secrets": {"A": None, "C": "cronfleet/acme/c"}}}
    changed = api.call("PATCH", "/v1/schedules/nightly", patch)
    assert changed.json["target"]["secrets"] == {"B": "cronfleet/acme/b", "C": "cronfleet/acme/c"}
    plain = api.call("PATCH", "/v1/schedules/nightly", {"target": {"secrets": None}})
    assert plain.json["target"] == {"handler": "billing.nightly"}


@pytest.mark.parametrize(
    ("target", "field", "words"),
    [
        ({"handler": "a.b", "secrets": {"A": "cronfleet/rival/a"}}, "target.secrets.A", "a secret of yours"),
        ({"handler": "a.b", "secrets": {"A": "a"}}, "target.secrets.A", "a secret of yours"),
        ({"handler": "a.b", "secrets": {"A": "cronfleet/acme/../rival/a"}}, "target.secrets.A", "a secret of yours"),
        ({"handler": "a.b", "secrets": {"A": "sk_live_1234"}}, "target.secrets.A", "a key itself"),
        ({"handler": "a.b", "secrets": {"A B": "cronfleet/acme/a"}}, "target.secrets", "is no name"),
        ({"handler": "a.b", "secrets": {"": "cronfleet/acme/a"}}, "target.secrets", "is no name"),
        ({"handler": "a.b", "secrets": {f"A{n}": "cronfleet/acme/a" for n in range(9)}}, "target.secrets", "8"),
        ({"handler": "a.b", "secrets": {"A": 1}}, "target.secrets.A", "text"),
        ({"handler": "a.b", "secrets": ["A"]}, "target.secrets", "an object"),
        ({"handler": "a.b", "secret": "cronfleet/acme/a"}, "target.secret", "webhook"),
        ({"url": "https://example.com", "secrets": {"A": "cronfleet/acme/a"}}, "target.secrets", "handler"),
        ({"lambda": "cronfleet-target-a", "secrets": {"A": "cronfleet/acme/a"}}, "target.secrets", "handler"),
        ({"url": "https://example.com", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "target.secret", "key"),
    ],
)
def test_what_is_no_name_of_an_own_secret_is_refused_and_never_said_again(
    memory: Api, target: dict[str, object], field: str, words: str
) -> None:
    answer = memory.register(target=target)
    assert answer.status == 400
    assert answer.fields == [field]
    assert words in answer.json["errors"][0]["reason"]
    assert "sk_live" not in answer.text
    assert "MfKQ9r8" not in answer.text
