"""Each rule on policies finds what it is there for: one template that breaks it."""

import json
from pathlib import Path
from typing import Any

import pytest

from permissions import rules
from permissions.templates import Templates

TRUST = {
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Condition": {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}},
        }
    ]
}
TABLE = "arn:aws:dynamodb:eu-central-1:123456789012:table/cronfleet-runs"


def role(trust: Any = TRUST, **more: Any) -> dict[str, Any]:
    return {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": trust, **more}}


def policy(**statement: Any) -> dict[str, Any]:
    document = {"Statement": [{"Effect": "Allow", **statement}]}
    return {"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": document, "Roles": [{"Ref": "Role"}]}}


def templates(folder: Path, **resources: Any) -> Templates:
    (folder / "one.template.json").write_text(json.dumps({"Resources": {"Role": role(), **resources}}))
    return Templates(folder)


def trusting(**changes: Any) -> dict[str, Any]:
    return role({"Statement": [{**TRUST["Statement"][0], **changes}]})


def function(name: str) -> dict[str, Any]:
    wanted = {"FunctionName": f"cronfleet-{name}", "Handler": f"{name}.handler.handle"}
    return {"Type": "AWS::Lambda::Function", "Properties": {**wanted, "Role": {"Fn::GetAtt": ["Role", "Arn"]}}}


BROKEN: list[tuple[rules.Rule, dict[str, Any], str]] = [
    (rules.no_action_is_a_wildcard, {"P": policy(Action="dynamodb:Get*", Resource=TABLE)}, "dynamodb:Get*"),
    (rules.no_resource_is_everything, {"P": policy(Action="dynamodb:GetItem", Resource="*")}, "on *"),
    (
        rules.no_resource_is_everything,
        {"P": policy(Action="dynamodb:GetItem", Resource=f"{TABLE}*")},
        "table/cronfleet-runs*",
    ),
    (rules.no_resource_is_everything, {"P": policy(Action="cloudwatch:PutMetricData", Resource="*")}, "on *"),
    (rules.nothing_is_granted_by_leaving_out, {"P": policy(NotAction="iam:*", Resource=TABLE)}, "NotAction"),
    (rules.no_role_is_passed_on, {"P": policy(Action="iam:PassRole", Resource=TABLE)}, "iam:PassRole"),
    (
        rules.roles_of_others_are_taken_by_their_pattern_alone,
        {"P": policy(Action="sts:AssumeRole", Resource="arn:aws:iam::*:role/*")},
        "arn:aws:iam::*:role/*",
    ),
    (rules.no_policy_is_managed_elsewhere, {"Other": role(ManagedPolicyArns=["arn:aws:iam::aws:policy/X"])}, "X"),
    (rules.every_part_has_a_role_of_its_own, {"A": function("api"), "B": function("clerk")}, "2 parts"),
    (rules.roles_are_taken_for_this_account_alone, {"Other": trusting(Condition={})}, "aws:SourceAccount"),
    (rules.only_services_are_trusted, {"Other": trusting(Principal={"AWS": "*"})}, "only AWS services"),
    (
        rules.conditions_hold_also_where_their_key_is_missing,
        {
            "P": policy(
                Action="dynamodb:Scan",
                Resource=TABLE,
                Condition={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["acme"]}},
            )
        },
        "does not limit dynamodb:Scan",
    ),
    (
        rules.functions_are_invoked_by_a_named_source,
        {
            "P": {
                "Type": "AWS::Lambda::Permission",
                "Properties": {"Action": "lambda:InvokeFunction", "Principal": "apigateway.amazonaws.com"},
            }
        },
        "add SourceArn",
    ),
    (
        rules.what_stands_at_a_resource_opens_it_to_nobody_unnamed,
        {
            "P": {
                "Type": "AWS::SQS::QueuePolicy",
                "Properties": {
                    "PolicyDocument": {
                        "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": "a"}]
                    }
                },
            }
        },
        "to everybody",
    ),
    (
        rules.every_queue_wants_tls,
        {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "cronfleet-ticks"}}},
        "without TLS",
    ),
    (rules.parliament_finds_nothing, {"P": policy(Action="dynamodb:GetItems", Resource=TABLE)}, "UNKNOWN_ACTION"),
    (rules.parliament_finds_nothing, {"P": policy(Action="sqs:SendMessage", Resource=TABLE)}, "RESOURCE_MISMATCH"),
]


@pytest.mark.parametrize(("rule", "resources", "said"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rule_finds_what_breaks_it_and_says_where(
    tmp_path: Path, rule: rules.Rule, resources: dict[str, Any], said: str
) -> None:
    [finding] = rule(templates(tmp_path, **resources))
    assert said in finding


def test_every_rule_has_something_that_breaks_it() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(rules.RULES)


def test_what_is_right_breaks_no_rule(tmp_path: Path) -> None:
    right = templates(tmp_path, P=policy(Action="dynamodb:GetItem", Resource=TABLE), A=function("api"))
    assert [finding for rule in rules.RULES for finding in rule(right)] == []


def test_a_folder_without_templates_is_told_from_one_without_roles(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no \*\.template\.json"):
        Templates(tmp_path)
