"""cdk-nag over an installation, with the findings that are acknowledged in `infra/acknowledgements.py`."""

from collections.abc import Iterator

import aws_cdk as cdk
from constructs import IConstruct

from infra.acknowledgements import ACKNOWLEDGED, ANYTHING, PACK, Acknowledgement
from infra.config.installation import Config


def check(app: cdk.App, config: Config) -> None:
    """Have the synthesis of `app` fail on every finding that nobody has acknowledged."""
    # Here and not above: loading the rules takes half a second, which the local stack does not need.
    from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415 - see the line above

    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    for one in ACKNOWLEDGED:
        for construct in _constructs(app, config, one):
            acknowledged = cdk.Acknowledgment(id=_id(construct, config, one), reason=one.reason)
            cdk.Validations.of(construct).acknowledge(acknowledged)


def _constructs(app: cdk.App, config: Config, one: Acknowledgement) -> Iterator[IConstruct]:
    """Those that are there: what an option brings is not always."""
    for path in one.at:
        stack, *names = path.split("/")
        found: IConstruct | None = app.node.try_find_child(f"{config.prefix}-{stack}")
        for name in names:
            found = found and found.node.try_find_child(name)
        if found is not None:
            yield found


def _id(construct: IConstruct, config: Config, one: Acknowledgement) -> str:
    rule = f"{PACK}::{PACK}-{one.rule}"
    if not one.finding:
        return rule
    if one.finding == ANYTHING:
        return f"{rule}[Resource::{ANYTHING}]"
    stack = cdk.Stack.of(construct)
    region, account = (_shown(value, name) for value, name in ((stack.region, "Region"), (stack.account, "AccountId")))
    finding = one.finding.format(region=region, account=account, prefix=config.prefix)
    return f"{rule}[Resource::arn:<AWS::Partition>:{finding}]"


def _shown(value: str, name: str) -> str:
    """As the rule shows it: a value that is not known before the deployment by its name."""
    return f"<AWS::{name}>" if cdk.Token.is_unresolved(value) else value
