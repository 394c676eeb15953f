"""JobStore: the tables as those know them who use them: by their names, and by what they may do there."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from cronfleet.adapters.dynamodb import schema
from infra.config.installation import Config
from infra.constructs.encryption_key import grant_key

READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
# A transaction is authorised by the actions it consists of.
WRITE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem")
CHANGE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem")
UPDATE_MANY: Final = ("dynamodb:PartiQLUpdate",)
APPEND: Final = ("dynamodb:PutItem",)
UPDATE: Final = ("dynamodb:UpdateItem",)
CHECK: Final = ("dynamodb:ConditionCheckItem",)
DELETE: Final = ("dynamodb:DeleteItem",)
ERASE: Final = ("dynamodb:BatchWriteItem",)
LOOK_UP: Final = ("dynamodb:GetItem",)
LOOK_UP_MANY: Final = ("dynamodb:BatchGetItem",)
WALK: Final = ("dynamodb:Scan",)
QUERY: Final = ("dynamodb:Query",)


class JobStore:
    """All tables of `schema.TABLES`, in whatever stack they lie.

    No ARN comes from the stack that makes them: an export that another stack imports could not be changed any more.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def grant(
        self,
        role: iam.Role,
        table: schema.Table,
        actions: tuple[str, ...],
        indexes: tuple[schema.Index, ...] = (),
    ) -> None:
        """Let `role` do `actions` on `table`, and query only the `indexes` named."""
        arn = self._arn(role, table)
        if actions:
            role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[arn]))
        self._grant_key(role, actions)
        foreign = [index.name for index in indexes if index not in table.indexes]
        if foreign:
            raise ValueError(f"{', '.join(foreign)}: no index of the table {table.name}")
        queried = [f"{arn}/index/{index.name}" for index in indexes]
        if queried:
            role.add_to_policy(iam.PolicyStatement(actions=["dynamodb:Query"], resources=queried))

    def grant_partition(self, role: iam.Role, table: schema.Table, actions: tuple[str, ...], partition: str) -> None:
        """Let `role` do `actions` on the items of one partition of `table`, or of all that begin as `partition` does,
        where that ends with a star.
        """
        test = "StringLike" if partition.endswith("*") else "StringEquals"
        only = {f"ForAllValues:{test}": {"dynamodb:LeadingKeys": [partition]}}
        arn = self._arn(role, table)
        role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[arn], conditions=only))
        self._grant_key(role, actions)

    def grant_walk(self, role: iam.Role, table: schema.Table, index: schema.Index | None = None) -> None:
        """Let `role` go through the whole of `index`, or of the table itself."""
        arn = self._arn(role, table) + ("" if index is None else f"/index/{index.name}")
        role.add_to_policy(iam.PolicyStatement(actions=list(WALK), resources=[arn]))
        self._grant_key(role, WALK)

    def _grant_key(self, role: iam.Role, actions: tuple[str, ...]) -> None:
        grant_key(role, self._config, writes=not set(actions) <= {*READ, *WALK})

    def _arn(self, role: iam.Role, table: schema.Table) -> str:
        name = f"{self._config.tables.prefix}-{table.name}"
        return cdk.Stack.of(role).format_arn(service="dynamodb", resource="table", resource_name=name)
