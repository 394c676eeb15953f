"""Definitions, as items of the table `schedules`."""

from collections.abc import Mapping
from typing import Any

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.policies import (
    breaker_json,
    breaker_of,
    retry_json,
    retry_of,
    spread_json,
    spread_of,
    timing_json,
    timing_of,
)
from cronfleet.adapters.dynamodb.items.timers import trigger_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import DefinitionRecord
from cronfleet.domain import trigger as triggers
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.objective_form import objectives_form, parse_objectives
from cronfleet.domain.schedule import Definition, Policies, Spec
from cronfleet.domain.target import HandlerTarget, LambdaTarget, Target, WebhookTarget
from cronfleet.domain.target_form import role_target_of, target_form


def definition_item(definition: Definition) -> Item:
    """A version of a schedule as an item."""
    return written(
        DefinitionRecord,
        keys.schedule(definition.tenant, definition.schedule_id),
        keys.version(definition.version),
        version=definition.version,
        spec=_spec_json(definition.spec),
        author=definition.author,
        created_at=definition.created_at,
        reason=definition.reason,
    )


def definition_of(item: Item) -> Definition:
    """The version in `item`; raises `Damaged`."""
    record = read(DefinitionRecord, item)
    try:
        tenant, schedule_id = keys.parse_schedule(record.pk)
        spec = _spec_of(record.spec)
    except (CronfleetError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(item, error) from error
    return Definition(tenant, schedule_id, record.version, spec, record.author, record.created_at, record.reason)


def _spec_json(spec: Spec) -> dict[str, Any]:
    policies = spec.policies
    expected = {} if spec.objectives is None else {"objectives": objectives_form(spec.objectives)}
    return {
        "trigger": triggers.to_record(spec.trigger),
        "target": _target_json(spec.target),
        "owner": spec.owner,
        "description": spec.description,
        "payload": spec.payload,
        "timing": timing_json(
            policies.misfire,
            policies.after_pause,
            policies.overlap,
            policies.jitter_seconds,
            policies.concurrency_key,
        )
        | breaker_json(policies.breaker),
        "retry": retry_json(policies.retry),
        **spread_json(policies.spread),
        **_target_breaker_json(policies),
        **({"heartbeat_seconds": policies.heartbeat_seconds} if policies.heartbeat_seconds else {}),
        "timeout_seconds": policies.timeout_seconds,
        "labels": dict(spec.labels),
        "start_at": spec.start_at,
        "end_at": spec.end_at,
        **expected,
    }


def _target_breaker_json(policies: Policies) -> dict[str, Any]:
    """Whether the target's breaker counts, where it does not."""
    return {} if policies.target_breaker else {"target_breaker": False}


def _spec_of(stored: Mapping[str, Any]) -> Spec:
    misfire, after_pause, overlap, jitter_seconds, concurrency_key = timing_of(stored["timing"])
    return Spec(
        trigger_of(stored["trigger"]),
        _target_of(stored["target"]),
        stored["owner"],
        stored["description"],
        stored["payload"],
        Policies(
            misfire,
            overlap,
            jitter_seconds,
            retry_of(stored["retry"]),
            stored["timeout_seconds"],
            after_pause,
            concurrency_key,
            breaker=breaker_of(stored["timing"]),
            target_breaker=stored.get("target_breaker", True),
            heartbeat_seconds=stored.get("heartbeat_seconds", 0),
            spread=spread_of(stored),
        ),
        stored["labels"],
        stored["start_at"],
        stored["end_at"],
        parse_objectives(stored["objectives"]) if "objectives" in stored else None,
    )


def _target_json(target: Target) -> dict[str, Any]:
    match target:
        case HandlerTarget(name, secrets):
            return {"handler": name} | ({"secrets": dict(secrets)} if secrets else {})
        case WebhookTarget(url, secret):
            return {"url": url, "secret": secret}
        case _:
            return target_form(target)


def _target_of(stored: Mapping[str, Any]) -> Target:
    if "handler" in stored:
        return HandlerTarget(stored["handler"], tuple(sorted(stored.get("secrets", {}).items())))
    if "url" in stored:
        return WebhookTarget(stored["url"], stored["secret"])
    return LambdaTarget(stored["lambda"]) if "lambda" in stored else role_target_of(stored)
