"""STS that heeds trust policies, which no emulator does: who may assume what, and the sessions that were opened."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from cronfleet.ports.clock import Clock


@dataclass
class TrustingSts:
    """`roles` maps the ARN of a role to its trust policy. It is asked by the role with the ARN `caller`."""

    clock: Clock
    caller: str
    roles: dict[str, Any] = field(default_factory=dict)
    opened: list[dict[str, Any]] = field(default_factory=list)
    broken: str = ""
    asked: int = 0

    def assume_role(self, **asked: Any) -> Any:
        self.asked += 1
        if self.broken:
            raise ClientError({"Error": {"Code": self.broken, "Message": "no"}}, "AssumeRole")
        policy = self.roles.get(asked["RoleArn"])
        if policy is None or not any(self._lets_in(one, asked) for one in policy["Statement"]):
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not authorized"}}, "AssumeRole")
        self.opened.append(asked)
        ends = self.clock.now() // 1_000 + asked["DurationSeconds"]
        return {
            "Credentials": {
                "AccessKeyId": f"ASIA{len(self.opened)}",
                "SecretAccessKey": "secret",
                "SessionToken": f"token-{len(self.opened)}",
                "Expiration": datetime.fromtimestamp(ends, UTC),
            }
        }

    def _lets_in(self, statement: Any, asked: dict[str, Any]) -> bool:
        account = ":".join(self.caller.split(":")[:5])
        if f"{account}:root" not in statement["Principal"]["AWS"]:
            return False
        condition = statement.get("Condition", {})
        wanted = condition.get("StringEquals", {}).get("sts:ExternalId")
        callers = condition.get("ArnEquals", {}).get("aws:PrincipalArn")
        return wanted in (None, asked.get("ExternalId")) and (callers is None or self.caller in callers)
