"""Templates: a synthesised installation's roles, with names and ARNs written out as far as they are known."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PSEUDO: Final = {
    "AWS::Partition": "aws",
    "AWS::Region": "REGION",
    "AWS::AccountId": "ACCOUNT",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::StackName": "STACK",
    "AWS::NoValue": "",
}
ARNS: Final[Mapping[str, tuple[str, str]]] = {
    "AWS::DynamoDB::GlobalTable": ("dynamodb", "table/{TableName}"),
    "AWS::DynamoDB::Table": ("dynamodb", "table/{TableName}"),
    "AWS::ECS::Cluster": ("ecs", "cluster/{ClusterName}"),
    "AWS::Events::EventBus": ("events", "event-bus/{Name}"),
    "AWS::IAM::Role": ("iam", "role/{RoleName}"),
    "AWS::Lambda::Function": ("lambda", "function:{FunctionName}"),
    "AWS::Logs::LogGroup": ("logs", "log-group:{LogGroupName}:*"),
    "AWS::SQS::Queue": ("sqs", "{QueueName}"),
    "AWS::SNS::Topic": ("sns", "{TopicName}"),
}
"""Type → the service and resource of its ARN, by the properties that name it."""


_PLACE: Final = re.compile(r"(arn:aws:[a-z0-9-]+):[a-z]{2}(?:-[a-z]+)+-[0-9]:[0-9]{12}")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy, every list written as one, every ARN as text."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    effect: str = "Allow"
    condition: str = ""
    """As JSON; empty: none."""
    others: tuple[str, ...] = ()
    """What else it says, such as `NotAction`."""


@dataclass(frozen=True)
class Role:
    """A role: who may take it, and what whoever has it may do."""

    name: str
    trust: Sequence[Mapping[str, Any]]
    statements: Sequence[Statement]
    managed: Sequence[str] = ()


@dataclass(frozen=True)
class Part:
    """A function (or container) of the installation: the folder that it runs, its role, and what it is given."""

    name: str
    folder: str
    role: str
    environment: Mapping[str, str] = field(default_factory=dict)


class Templates:
    """All stacks of one cloud assembly."""

    def __init__(self, folder: Path) -> None:
        found = sorted(folder.glob("*.template.json"))
        self.stacks = {path.name.removesuffix(".template.json"): json.loads(path.read_text()) for path in found}
        if not self.stacks:
            raise ValueError(
                f"{folder} holds no *.template.json: synthesise into it with `python -m infra.app -o {folder}`"
            )
        self._exports: Mapping[str, str] = {}
        self._exports = dict(self._exported())

    def of_type(self, *kinds: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Stack, logical id and properties of each resource of these types."""
        for stack, template in self.stacks.items():
            for name, resource in template.get("Resources", {}).items():
                if resource["Type"] in kinds:
                    yield stack, name, resource.get("Properties", {})

    def roles(self) -> Mapping[str, Role]:
        """Every role by `stack/logical id`."""
        policies: dict[str, list[Statement]] = {}
        for stack, _, properties in self.of_type("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            for reference in properties.get("Roles", []):
                read = self._statements(stack, properties["PolicyDocument"])
                policies.setdefault(f"{stack}/{reference['Ref']}", []).extend(read)
        roles: dict[str, Role] = {}
        for stack, name, properties in self.of_type("AWS::IAM::Role"):
            key = f"{stack}/{name}"
            inline = [
                one
                for each in properties.get("Policies", [])
                for one in self._statements(stack, each["PolicyDocument"])
            ]
            trust = self._written(stack, properties["AssumeRolePolicyDocument"])["Statement"]
            managed = [self.text(stack, one) for one in properties.get("ManagedPolicyArns", [])]
            roles[key] = Role(key, as_list(trust), [*inline, *policies.get(key, [])], managed)
        return roles

    def resource_policies(self) -> Iterator[tuple[str, Sequence[Statement], Mapping[str, Any]]]:
        """The policies that stand at resources themselves: name, statements, and the document as written."""
        for stack, name, properties in self.of_type(
            "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy", "AWS::S3::BucketPolicy"
        ):
            document = self._written(stack, properties["PolicyDocument"])
            yield f"{stack}/{name}", list(self._statements(stack, properties["PolicyDocument"])), document

    def parts(self, prefix: str) -> Sequence[Part]:
        """Every function, and every container that stays up, whatever stack it stands in."""
        found: list[Part] = []
        for stack, _, properties in self.of_type("AWS::Lambda::Function"):
            name = self.text(stack, properties["FunctionName"]).removeprefix(f"{prefix}-")
            handler = str(properties.get("Handler", "")).partition(".")[0]
            given = properties.get("Environment", {}).get("Variables", {})
            environment = {key: self.text(stack, value) for key, value in given.items()}
            found.append(Part(name, handler, self._role_of(stack, properties["Role"]), environment))
        for stack, _, properties in self.of_type("AWS::ECS::TaskDefinition"):
            for container in properties["ContainerDefinitions"]:
                given = {one["Name"]: self.text(stack, one["Value"]) for one in container.get("Environment", [])}
                name = str(container["Name"])
                found.append(Part(name, name.replace("-", "_"), self._role_of(stack, properties["TaskRoleArn"]), given))
        return found

    def aliases(self, stack: str, function: str) -> Iterator[str]:
        """The logical ids of a function's aliases and versions."""
        for where, name, properties in self.of_type("AWS::Lambda::Alias", "AWS::Lambda::Version"):
            if where == stack and f'"{function}"' in json.dumps(properties["FunctionName"]):
                yield name

    def text(self, stack: str, value: Any) -> str:
        """A value as CloudFormation will write it; what it alone knows stands there in capitals or angle brackets.

        So do region and account in an ARN, whether they are known or not.
        """
        return _PLACE.sub(r"\1:REGION:ACCOUNT", self._text(stack, value))

    def _text(self, stack: str, value: Any) -> str:
        if not isinstance(value, dict):
            return str(value)
        [(function, argument)] = value.items()
        if function == "Ref":
            return PSEUDO[argument] if argument in PSEUDO else self._ref(stack, argument)
        if function == "Fn::GetAtt":
            name, attribute = argument if isinstance(argument, list) else argument.split(".", 1)
            return self._attribute(stack, name, attribute)
        if function == "Fn::Join":
            return str(argument[0]).join(self.text(stack, one) for one in argument[1])
        if function == "Fn::Sub":
            return str(argument[0] if isinstance(argument, list) else argument)
        if function == "Fn::ImportValue":
            return self._exports.get(str(argument), f"<{argument}>")
        return f"<{function}>"

    def _exported(self) -> Iterator[tuple[str, str]]:
        for stack, template in self.stacks.items():
            for output in template.get("Outputs", {}).values():
                if "Export" in output:
                    yield str(output["Export"]["Name"]), self.text(stack, output["Value"])

    def _ref(self, stack: str, name: str) -> str:
        resource = self.stacks[stack]["Resources"].get(name)
        if resource is None:
            return f"<{name}>"
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::SQS::Queue":
            return f"https://sqs.REGION.amazonaws.com/ACCOUNT/{self.text(stack, properties['QueueName'])}"
        if resource["Type"] == "AWS::Lambda::Alias":
            function = self.text(stack, properties["FunctionName"])
            return f"arn:aws:lambda:REGION:ACCOUNT:function:{function}:{properties['Name']}"
        if resource["Type"] == "AWS::SecretsManager::Secret":
            return f"arn:aws:secretsmanager:REGION:ACCOUNT:secret:{self.text(stack, properties['Name'])}-??????"
        for key in ("TableName", "FunctionName", "LogGroupName", "Name", "TopicName", "RoleName", "ClusterName"):
            if key in properties:
                return self.text(stack, properties[key])
        return f"<{name}>"

    def _attribute(self, stack: str, name: str, attribute: str) -> str:
        resource = self.stacks[stack]["Resources"][name]
        if attribute in ("Arn", "TopicArn") and resource["Type"] in ARNS:
            service, form = ARNS[resource["Type"]]
            key = form.partition("{")[2].partition("}")[0]
            own = self.text(stack, resource.get("Properties", {}).get(key, f"<{name}>"))
            region = "" if service == "iam" else "REGION"
            return f"arn:aws:{service}:{region}:ACCOUNT:{form.replace('{' + key + '}', own)}"
        return f"<{name}.{attribute}>"

    def _role_of(self, stack: str, value: Any) -> str:
        name = value["Fn::GetAtt"][0] if "Fn::GetAtt" in value else value["Ref"]
        return f"{stack}/{name}"

    def _statements(self, stack: str, document: Mapping[str, Any]) -> Iterator[Statement]:
        for one in as_list(document["Statement"]):
            condition = self._written(stack, one["Condition"]) if "Condition" in one else None
            yield Statement(
                tuple(sorted(as_list(one.get("Action", ())))),
                tuple(self.text(stack, each) for each in as_list(one.get("Resource", ()))),
                one["Effect"],
                json.dumps(condition, sort_keys=True) if condition else "",
                tuple(sorted(one.keys() - {"Sid", "Effect", "Action", "Resource", "Condition", "Principal"})),
            )

    def _written(self, stack: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._written(stack, one) for one in value]
        if isinstance(value, dict):
            if len(value) == 1 and next(iter(value)) in ("Ref", "Fn::GetAtt", "Fn::Join", "Fn::Sub", "Fn::ImportValue"):
                return self.text(stack, value)
            return {key: self._written(stack, one) for key, one in value.items()}
        return value


def as_list(value: Any) -> list[Any]:
    """Policies write a list of one without the list."""
    return list(value) if isinstance(value, list | tuple) else [value]
