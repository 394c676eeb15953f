"""A synthesised installation, read back from its files as CloudFormation will read it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Resource = dict[str, Any]


class Assembly:
    """The templates in a cloud assembly's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = sorted(folder.glob("*.template.json"))
        self.templates = {path.name.removesuffix(".template.json"): json.loads(path.read_text()) for path in names}

    def of_type(self, kind: str) -> dict[str, Resource]:
        """Every resource of a CloudFormation type in any stack, by stack and logical id."""
        return {
            f"{stack}/{logical_id}": resource
            for stack, template in self.templates.items()
            for logical_id, resource in template["Resources"].items()
            if resource["Type"] == kind
        }

    def functions(self) -> dict[str, Resource]:
        """Properties of each Lambda function, by its name without the prefix."""
        found = self.of_type("AWS::Lambda::Function").values()
        return {item["Properties"]["FunctionName"].removeprefix("cronfleet-"): item["Properties"] for item in found}

    def statements(self, function: str) -> list[Resource]:
        """What the role of a function is allowed, statement by statement."""
        return list(self._statements_of(self.functions()[function]["Role"]["Fn::GetAtt"][0]))

    def role_of(self, function: str) -> Resource:
        """The role of a function."""
        own = self.functions()[function]["Role"]["Fn::GetAtt"][0]
        [found] = [role for name, role in self.of_type("AWS::IAM::Role").items() if name.endswith(f"/{own}")]
        return found

    def _statements_of(self, role: str) -> Iterator[Resource]:
        for policy in self.of_type("AWS::IAM::Policy").values():
            if {"Ref": role} in policy["Properties"]["Roles"]:
                yield from policy["Properties"]["PolicyDocument"]["Statement"]

    def actions(self, function: str) -> set[str]:
        """Every action the role of a function is allowed, on whatever resource."""
        return {action for statement in self.statements(function) for action in as_list(statement["Action"])}


def as_list(value: Any) -> list[Any]:
    """Policies write a list of one without the list."""
    return value if isinstance(value, list) else [value]
