"""Messages: how they look, in each kind of channel."""

from dataclasses import replace

import pytest

from cronfleet.domain.errors import Invalid
from cronfleet.domain.incident import IncidentStatus
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.message import (
    email_subject,
    email_text,
    incident_message,
    slack_body,
    sns_subject,
)
from cronfleet.domain.message_template import check_template, rendered
from cronfleet.domain.notice import Edge
from tests.support.alert_examples import CHANNEL, INCIDENT, NOTICE
from tests.support.settable_clock import NOON

HEALED = replace(
    INCIDENT, status=IncidentStatus.HEALED, ended_at=NOON + 9 * MINUTE, ended_text="the fire of 12:00 started late"
)


def test_an_email_says_what_is_broken_first_and_then_the_facts() -> None:
    message = incident_message(NOTICE, INCIDENT, CHANNEL)
    assert email_subject(message) == "[BROKEN] nightly: did not start in time"
    assert email_text(message).splitlines() == [
        "the fire of 12:00 was not started within 5m",
        "",
        "Schedule:     nightly",
        "Tenant:       acme",
        "Broken since: 2026-11-30T12:00:00Z",
        "Noticed:      2026-11-30T12:05:00Z",
        "Incident:     01kincident0000000000000001",
        "",
        "-- ",
        "Cronfleet, notice n1",
    ]


def test_a_chat_gets_a_line_for_the_notification_and_a_coloured_attachment() -> None:
    broken = slack_body(incident_message(NOTICE, INCIDENT, CHANNEL))
    assert broken["text"] == "[BROKEN] nightly: did not start in time"
    (attachment,) = broken["attachments"]
    assert attachment["color"] == "#c62828"
    title, text, facts = attachment["blocks"]
    assert title["text"] == {"type": "mrkdwn", "text": "*[BROKEN] nightly: did not start in time*"}
    assert text["text"]["text"] == "the fire of 12:00 was not started within 5m"
    assert facts["fields"][0] == {"type": "mrkdwn", "text": "*Schedule*\nnightly"}
    healed = slack_body(incident_message(replace(NOTICE, edge=Edge.HEALED), HEALED, CHANNEL))
    assert healed["attachments"][0]["color"] == "#2e7d32"
    assert healed["attachments"][0]["blocks"][1]["text"]["text"] == "the fire of 12:00 started late"


def test_nothing_that_a_tenant_writes_calls_anybody_in_a_chat() -> None:
    loud = replace(INCIDENT, broken=replace(INCIDENT.broken, text="<!channel> & <https://evil.example.com|click>"))
    body = slack_body(incident_message(NOTICE, loud, CHANNEL))
    text = body["attachments"][0]["blocks"][1]["text"]["text"]
    assert text == "&lt;!channel&gt; &amp; &lt;https://evil.example.com|click&gt;"


def test_a_subject_of_sns_is_one_short_line_of_ascii() -> None:
    message = replace(incident_message(NOTICE, INCIDENT, CHANNEL), title="[BROKEN] früh\nam Morgen " + "x" * 200)
    subject = sns_subject(message)
    assert subject.startswith("[BROKEN] fr?h am Morgen x")
    assert len(subject) == 100


def test_a_template_has_placeholders_and_nothing_else() -> None:
    channel = replace(CHANNEL, template="{{state}} {{ schedule }} since {{since}}: {{text}}")
    message = incident_message(NOTICE, INCIDENT, channel)
    assert message.text == ("BROKEN nightly since 2026-11-30T12:00:00Z: the fire of 12:00 was not started within 5m")
    # What a value holds is text, also where it looks like a placeholder.
    assert rendered("{{text}}", {"text": "{{schedule}}", "schedule": "x"}) == "{{schedule}}"


@pytest.mark.parametrize("template", ["{{nobody}}", "{{", "}}", "{{schedule", "{{#if}}", "x" * 2_001])
def test_a_template_that_would_not_do_is_refused(template: str) -> None:
    with pytest.raises(Invalid):
        check_template(template)
