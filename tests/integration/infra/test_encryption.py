"""With whose key tables and logs are encrypted, and who may use it for what."""

import json

from tests.integration.infra.assembly import Assembly, as_list

TABLE = "AWS::DynamoDB::GlobalTable"
GROUP = "AWS::Logs::LogGroup"
ELSEWHERE = "cronfleet-edge/"
"""Firewalls lie in another region, where the key is not."""
PARAMETER = "/cronfleet/encryption-key"


def test_the_keys_are_those_of_aws_unless_the_installation_asks_for_its_own(on_aws: Assembly) -> None:
    assert not on_aws.of_type("AWS::KMS::Key")
    assert "kms" not in json.dumps(list(on_aws.templates.values()))


def test_a_key_of_the_installations_own_encrypts_every_table_and_every_log(with_everything: Assembly) -> None:
    [key] = with_everything.of_type("AWS::KMS::Key")
    logical_id = key.partition("/")[2]
    for table in with_everything.of_type(TABLE).values():
        [replica] = table["Properties"]["Replicas"]
        assert table["Properties"]["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        assert replica["SSESpecification"] == {"KMSMasterKeyId": {"Fn::GetAtt": [logical_id, "Arn"]}}
    groups = with_everything.of_type(GROUP)
    here = {path: group for path, group in groups.items() if not path.startswith(ELSEWHERE)}
    assert len(here) == len(groups) - 1
    for path, group in here.items():
        parameter = group["Properties"]["KmsKeyId"]["Ref"]
        assert with_everything.templates[path.partition("/")[0]]["Parameters"][parameter] == {
            "Type": "AWS::SSM::Parameter::Value<String>",
            "Default": PARAMETER,
        }


def test_the_state_writes_down_its_key_for_the_stacks_that_come_after_it(with_everything: Assembly) -> None:
    [parameter] = with_everything.of_type("AWS::SSM::Parameter").values()
    assert parameter["Properties"]["Name"] == PARAMETER


def test_the_key_outlives_the_stack_and_is_changed_every_year(with_everything: Assembly) -> None:
    [key] = with_everything.of_type("AWS::KMS::Key").values()
    assert key["DeletionPolicy"] == key["UpdateReplacePolicy"] == "Retain"
    assert key["Properties"]["EnableKeyRotation"] is True


def test_the_keys_policy_lets_cloudwatch_logs_in_for_our_own_groups_and_leaves_the_rest_to_iam(
    with_everything: Assembly,
) -> None:
    [key] = with_everything.of_type("AWS::KMS::Key").values()
    account, logs = key["Properties"]["KeyPolicy"]["Statement"]
    assert ":root" in json.dumps(account["Principal"])
    assert logs["Principal"] == {"Service": "logs.eu-central-1.amazonaws.com"}
    [context] = logs["Condition"]["ArnLike"].values()
    assert all("/cronfleet*" in json.dumps(group) for group in context)


def test_a_function_uses_the_key_through_its_tables_and_no_other_way(with_everything: Assembly) -> None:
    for function in with_everything.functions():
        statements = [
            item
            for item in with_everything.statements(function)
            if any(action.startswith("kms:") for action in as_list(item["Action"]))
        ]
        assert statements, function
        for statement in statements:
            via = statement["Condition"]["StringEquals"]["kms:ViaService"]
            assert via["Fn::Join"][1] == ["dynamodb.eu-central-1.", {"Ref": "AWS::URLSuffix"}]
            assert not any("*" in action for action in as_list(statement["Action"]))
