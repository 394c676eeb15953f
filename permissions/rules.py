"""Rules: what no policy of an installation may say, one rule to a function, each finding a sentence.

They hold for every role, trust policy and resource policy in every template, whoever wrote the construct.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from permissions.needs import CHOSEN
from permissions.templates import Role, Statement, Templates, as_list

EVERYTHING: Final[Mapping[str, str]] = {
    "ecr:GetAuthorizationToken": "it names no resource: there is one token for a registry",
    "xray:PutTraceSegments": "it names no resource: traces lie in the account",
    "xray:PutTelemetryRecords": "it names no resource: as above",
    "cloudwatch:PutMetricData": "it names no resource: a condition on the namespace limits it",
}
"""Actions that AWS takes on no resource in particular → why."""

TASKS: Final = "-long-workers/*"
"""How the ARN of the tasks of the installation's own cluster ends: the id of one is drawn when it starts."""

PATTERNS: Final = (*CHOSEN.values(), "arn:aws:logs:REGION:ACCOUNT:log-group:*:*")
"""ARNs with a wildcard that are meant: what tenants name, and the streams of one log group."""

GUARDS: Final = ("aws:SourceAccount", "aws:SourceArn", "aws:SourceOrgID", "sts:ExternalId")
"""Conditions by which a service acts for this account alone, or a caller for one installation alone."""

SPARED: Final[Mapping[str, str]] = {
    "UNKNOWN_CONDITION_FOR_ACTION": "its list of actions does not know the condition keys of DynamoDB's newer actions",
}
"""Findings of parliament that are none → why."""


def no_action_is_a_wildcard(templates: Templates) -> Iterator[str]:
    """`dynamodb:*` grants what AWS invents next year."""
    for role, statement in _granted(templates):
        for action in statement.actions:
            if "*" in action:
                yield f"{role.name} may do {action}: name the actions"


def no_resource_is_everything(templates: Templates) -> Iterator[str]:
    """A wildcard stands only where tenants choose a name, or where AWS knows no resource."""
    for role, statement in _granted(templates):
        for resource in statement.resources:
            if "*" not in resource or _is_meant(resource):
                continue
            if any(action not in EVERYTHING or not _is_narrow(action, statement) for action in statement.actions):
                yield f"{role.name} may do {', '.join(statement.actions)} on {resource}: name the resource"


def nothing_is_granted_by_leaving_out(templates: Templates) -> Iterator[str]:
    """`NotAction` and `NotResource` grant all the rest, whatever that comes to be."""
    for role, statement in _granted(templates):
        for key in statement.others:
            yield f"{role.name} has a statement with {key}: say what is allowed"


def no_role_is_passed_on(templates: Templates) -> Iterator[str]:
    """Whoever may pass a role has what that role may do; and no part changes who may do what."""
    for role, statement in _granted(templates):
        for action in statement.actions:
            if action.startswith("iam:"):
                yield f"{role.name} may do {action} on {', '.join(statement.resources)}: no part needs that"


def roles_of_others_are_taken_by_their_pattern_alone(templates: Templates) -> Iterator[str]:
    """A target's role opts in by its name; any other role is none of ours."""
    for role, statement in _granted(templates):
        if "sts:AssumeRole" in statement.actions:
            for resource in statement.resources:
                if resource != CHOSEN["sts:AssumeRole"]:
                    yield f"{role.name} may take the role {resource}: only {CHOSEN['sts:AssumeRole']} is opted in"


def no_policy_is_managed_elsewhere(templates: Templates) -> Iterator[str]:
    """What AWS manages grows without a change here."""
    for role in templates.roles().values():
        for arn in role.managed:
            yield f"{role.name} carries {arn}: write the statements that it needs"


def every_part_has_a_role_of_its_own(templates: Templates, prefix: str = "") -> Iterator[str]:
    """Two parts with one role have the rights of both."""
    users = Counter(part.role for part in templates.parts(prefix))
    for role, count in users.items():
        if count > 1:
            yield f"{role} is the role of {count} parts: give each its own"


def roles_are_taken_for_this_account_alone(templates: Templates) -> Iterator[str]:
    """Else another customer's resource could make the service act under our role: the confused deputy."""
    for role in templates.roles().values():
        for statement in role.trust:
            condition = json.dumps(statement.get("Condition", {}))
            if not any(guard in condition for guard in GUARDS):
                yield f"{role.name} trusts {json.dumps(statement['Principal'])} for whomever: add aws:SourceAccount"


def only_services_are_trusted(templates: Templates) -> Iterator[str]:
    """No role is open to another account, to everybody, or to whoever is in this account."""
    for role in templates.roles().values():
        for statement in role.trust:
            principal = statement["Principal"]
            if not isinstance(principal, dict) or set(principal) != {"Service"}:
                yield f"{role.name} trusts {json.dumps(principal)}: only AWS services take our roles"


def conditions_hold_also_where_their_key_is_missing(templates: Templates) -> Iterator[str]:
    """`ForAllValues` is true of a request without the key; only requests that always have it may be limited so."""
    for role, statement in _granted(templates):
        loose = "ForAllValues" in statement.condition
        if loose and any(action in ("dynamodb:Scan", "dynamodb:PartiQLSelect") for action in statement.actions):
            yield f"{role.name}: {statement.condition} does not limit {', '.join(statement.actions)}"


def functions_are_invoked_by_a_named_source(templates: Templates) -> Iterator[str]:
    """A permission without its source lets every API, rule or topic of every customer invoke the function."""
    for stack, name, properties in templates.of_type("AWS::Lambda::Permission"):
        if not ({"SourceArn", "SourceAccount"} & properties.keys()):
            yield f"{stack}/{name} lets {properties.get('Principal')} invoke for whomever: add SourceArn"
        if properties.get("Action") != "lambda:InvokeFunction":
            yield f"{stack}/{name} gives {properties.get('Action')}: only lambda:InvokeFunction is given away"


def what_stands_at_a_resource_opens_it_to_nobody_unnamed(templates: Templates) -> Iterator[str]:
    """A queue's or topic's own policy may forbid to everybody, and allow only to those named."""
    for name, _, document in templates.resource_policies():
        for statement in as_list(document["Statement"]):
            open_to_all = statement.get("Principal") in ("*", {"AWS": "*"})
            if statement["Effect"] == "Allow" and open_to_all:
                yield f"{name} allows {statement.get('Action')} to everybody"


def every_queue_wants_tls(templates: Templates) -> Iterator[str]:
    """A message that travels in the clear is read on its way."""
    guarded = {
        text
        for _, _, document in templates.resource_policies()
        for statement in as_list(document["Statement"])
        if statement["Effect"] == "Deny" and "aws:SecureTransport" in json.dumps(statement.get("Condition", {}))
        for text in as_list(statement["Resource"])
    }
    for stack, name, properties in templates.of_type("AWS::SQS::Queue"):
        arn = f"arn:aws:sqs:REGION:ACCOUNT:{templates.text(stack, properties['QueueName'])}"
        if arn not in guarded:
            yield f"{stack}/{name} takes requests without TLS: enforce_ssl=True"


def parliament_finds_nothing(templates: Templates) -> Iterator[str]:
    """Actions that are not there, resources that an action does not take, conditions that it does not know."""
    import parliament  # noqa: PLC0415 - it reads a megabyte of definitions

    documents: dict[str, list[str]] = {}
    for role in templates.roles().values():
        statements = [_as_written(one) for one in role.statements]
        text = json.dumps({"Version": "2012-10-17", "Statement": statements})
        documents.setdefault(text, []).append(role.name)
    for text, names in documents.items():
        for finding in parliament.analyze_policy_string(text).findings:
            if finding.issue not in SPARED:
                yield f"{', '.join(names)}: {finding.issue}: {finding.detail}"


Rule = Callable[[Templates], Iterator[str]]
RULES: Final[tuple[Rule, ...]] = (
    no_action_is_a_wildcard,
    no_resource_is_everything,
    nothing_is_granted_by_leaving_out,
    no_role_is_passed_on,
    roles_of_others_are_taken_by_their_pattern_alone,
    no_policy_is_managed_elsewhere,
    every_part_has_a_role_of_its_own,
    roles_are_taken_for_this_account_alone,
    only_services_are_trusted,
    conditions_hold_also_where_their_key_is_missing,
    functions_are_invoked_by_a_named_source,
    what_stands_at_a_resource_opens_it_to_nobody_unnamed,
    every_queue_wants_tls,
    parliament_finds_nothing,
)


def _granted(templates: Templates) -> Iterator[tuple[Role, Statement]]:
    for role in templates.roles().values():
        for statement in role.statements:
            if statement.effect == "Allow":
                yield role, statement


def _is_meant(resource: str) -> bool:
    if resource in PATTERNS:
        return True
    if resource.startswith("arn:aws:ecs:REGION:ACCOUNT:task/") and resource.endswith(TASKS):
        return resource.count("*") == 1
    # The streams of one log group.
    return resource.startswith("arn:aws:logs:") and resource.endswith(":*") and resource.count("*") == 1


def _is_narrow(action: str, statement: Statement) -> bool:
    return action != "cloudwatch:PutMetricData" or "cloudwatch:namespace" in statement.condition


def _as_written(statement: Statement) -> dict[str, Any]:
    places = [one.replace("REGION", "eu-central-1").replace("ACCOUNT", "123456789012") for one in statement.resources]
    # A reference that only CloudFormation knows stands for a key here.
    places = [PLACEHOLDER if one.startswith("<") else one for one in places]
    condition = {"Condition": json.loads(statement.condition)} if statement.condition else {}
    return {"Effect": statement.effect, "Action": list(statement.actions), "Resource": places, **condition}


PLACEHOLDER: Final = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
