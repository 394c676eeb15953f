"""Needs: what a part's role must allow, from the requests of its code and from what AWS does in its name.

A need names one action and where: a pattern of ARNs that the grant has to lie in. Who may choose a name freely (a
tenant, of a secret, a function, a topic) chooses within such a pattern.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from cronfleet import settings
from permissions.atoms import Request
from permissions.templates import Part, Templates

DYNAMODB: Final = {
    "get": "dynamodb:GetItem",
    "put": "dynamodb:PutItem",
    "update": "dynamodb:UpdateItem",
    # A batch of statements is authorised by what its statements do.
    "update_all": "dynamodb:PartiQLUpdate",
    "delete": "dynamodb:DeleteItem",
    "batch_get": "dynamodb:BatchGetItem",
    "delete_all": "dynamodb:BatchWriteItem",
    "query": "dynamodb:Query",
    "query_keys": "dynamodb:Query",
    "scan": "dynamodb:Scan",
    "walk": "dynamodb:Scan",
    # A transaction is authorised by the actions it consists of.
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}
"""What `Database` is asked for, or what stands in a transaction → the action that IAM wants."""

ACTIONS: Final = {
    ("events", "put_events"): "events:PutEvents",
    ("lambda", "invoke"): "lambda:InvokeFunction",
    ("secretsmanager", "get_secret_value"): "secretsmanager:GetSecretValue",
    ("sqs", "receive_message"): "sqs:ReceiveMessage",
    ("sqs", "delete_message"): "sqs:DeleteMessage",
    ("sqs", "change_message_visibility"): "sqs:ChangeMessageVisibility",
    ("sesv2", "send_email"): "ses:SendEmail",
    ("sns", "publish"): "sns:Publish",
    ("sqs", "send_message_batch"): "sqs:SendMessage",
    ("sts", "assume_role"): "sts:AssumeRole",
}
"""Operations of other services → the action that IAM wants."""

NAMED_BY: Final = {
    "tick_queue_url": settings.TICK_QUEUE_URL,
    "errand_queue_url": settings.ERRAND_QUEUE_URL,
    "run_queue_urls": settings.RUN_QUEUE_URLS,
    "event_bus": settings.EVENT_BUS,
    "edge_secret": settings.EDGE_SECRET,
}
"""The setting that names a thing → the variable of the environment in which a part gets it."""

CHOSEN: Final = {
    "secretsmanager:GetSecretValue": "arn:aws:secretsmanager:REGION:ACCOUNT:secret:cronfleet/*",
    "lambda:InvokeFunction": "arn:aws:lambda:REGION:ACCOUNT:function:cronfleet-target-*",
    "sns:Publish": "arn:aws:sns:REGION:ACCOUNT:cronfleet-alerts-*",
    "ses:SendEmail": "arn:aws:ses:REGION:ACCOUNT:identity/*",
    "sts:AssumeRole": "arn:aws:iam::*:role/cronfleet-target-*",
}
"""What tenants name themselves: whoever runs the account opts a thing in by giving it such a name."""

OPTIONAL: Final = {"email_sender": settings.EMAIL_SENDER, "edge_secret": settings.EDGE_SECRET}
"""What nobody is asked for where the variable of the environment that names it is empty."""

LOGS: Final = ("logs:CreateLogStream", "logs:PutLogEvents")
POLLS: Final = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
)
"""What Lambda does with a queue in the name of the function behind it."""


READS_KEY: Final = ("kms:Decrypt", "kms:DescribeKey")
WRITES_KEY: Final = ("kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")
WRITES: Final = frozenset(
    {
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        "dynamodb:DeleteItem",
        "dynamodb:BatchWriteItem",
        "dynamodb:PartiQLUpdate",
    }
)
"""DynamoDB opens a table that has a key of the installation's own in the name of whoever asks."""


class Unknown(ValueError):
    """The code asks for something that nobody has said the action of."""


@dataclass(frozen=True, order=True)
class Need:
    """One action, the ARNs within which it is needed, and why. `every`: on each of `places`; else on one of them."""

    action: str
    places: tuple[str, ...]
    why: str = ""
    every: bool = True

    def covers(self, action: str, resource: str) -> bool:
        """Whether a grant is of this need."""
        return action == self.action and any(fnmatchcase(resource, place) for place in self.places)


def of_code(
    part: Part,
    requests: Mapping[Request, str],
    prefix: str,
    never: Mapping[tuple[str, str, str], str] = MappingProxyType({}),
) -> Iterator[Need]:
    """What the requests of a part's code need, less those that it is known never to make."""
    for request, way in requests.items():
        if request.service == "dynamodb":
            need = _of_table(request, way, prefix)
            if (part.folder, need.action, request.on) not in never:
                yield need
            continue
        action = ACTIONS.get((request.service, request.operation))
        if action is None:
            raise Unknown(
                f"{request.service}.{request.operation}, asked by {way}: say in permissions/needs.py, ACTIONS, which "
                "action of IAM that takes"
            )
        if request.on in OPTIONAL and not part.environment.get(OPTIONAL[request.on]):
            continue
        yield Need(action, tuple(_places(part, action, request.on)), way, every=False)


def _of_table(request: Request, way: str, prefix: str) -> Need:
    if request.operation not in DYNAMODB:
        raise Unknown(
            f"dynamodb.{request.operation}, asked by {way}: say in permissions/needs.py, DYNAMODB, what it takes"
        )
    arn = f"arn:aws:dynamodb:REGION:ACCOUNT:table/{prefix}-{request.on}"
    place = f"{arn}/index/{request.index}" if request.index else arn
    return Need(DYNAMODB[request.operation], (place,), way)


def _places(part: Part, action: str, setting: str) -> Iterator[str]:
    if action in CHOSEN and setting not in NAMED_BY:
        yield CHOSEN[action]
        return
    value = part.environment.get(NAMED_BY[setting], "") if setting in NAMED_BY else ""
    if not value:
        raise Unknown(f"{part.name}: {action} needs the setting {setting!r}, which its environment does not hold")
    if action == "secretsmanager:GetSecretValue":
        # AWS ends the ARN of a secret with six letters of its own.
        yield f"arn:aws:secretsmanager:REGION:ACCOUNT:secret:{value}-??????"
        return
    if action == "events:PutEvents":
        yield f"arn:aws:events:REGION:ACCOUNT:event-bus/{value}"
        return
    for url in json.loads(value).values() if value.startswith("{") else [value]:
        yield f"arn:aws:sqs:REGION:ACCOUNT:{url.rpartition('/')[2]}"


def of_platform(templates: Templates, part: Part) -> Iterator[Need]:
    """What AWS does in the name of a function: it writes its logs and takes its messages."""
    for stack, name, properties in templates.of_type("AWS::Lambda::Function"):
        own = templates.text(stack, properties["FunctionName"])
        if not own.endswith(f"-{part.name}") or "LoggingConfig" not in properties:
            continue
        group = templates.text(stack, properties["LoggingConfig"]["LogGroup"])
        for action in LOGS:
            yield Need(action, (f"arn:aws:logs:REGION:ACCOUNT:log-group:{group}:*",), "its log group")
        yield from _polled(templates, stack, name)


def of_key(templates: Templates, needs: Iterable[Need]) -> Iterator[Need]:
    """What a table that is encrypted under a key of the installation's own takes besides."""
    tables = [one for _, _, one in templates.of_type("AWS::DynamoDB::GlobalTable")]
    actions = {need.action for need in needs}
    if not any("KMSMasterKeyId" in json.dumps(one) for one in tables):
        return
    for action in (*READS_KEY, *(WRITES_KEY if actions & WRITES else ())):
        yield Need(action, ("*",), "the key of its tables", every=False)


def _polled(templates: Templates, stack: str, function: str) -> Iterator[Need]:
    known = {function, *templates.aliases(stack, function)}
    for where, _, properties in templates.of_type("AWS::Lambda::EventSourceMapping"):
        if where == stack and any(f'"{name}"' in json.dumps(properties["FunctionName"]) for name in known):
            queue = templates.text(stack, properties["EventSourceArn"])
            for action in POLLS:
                yield Need(action, (queue,), "its place behind the queue")
