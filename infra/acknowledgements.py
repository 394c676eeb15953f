"""What cdk-nag (its pack AwsSolutions) objects to and we mean: each finding, where, and why it stays.

Every synthesis for AWS runs the pack, and fails on a finding that is not written down here (decision 0023). A finding
is acknowledged at one construct, by its whole text: one wildcard too many in the same role fails.
"""

from dataclasses import dataclass
from typing import Final

from cronfleet import settings

PACK: Final = "AwsSolutions"

WILDCARD: Final = "IAM5"
NO_AUTHORIZATION: Final = "APIG4"
ANYTHING: Final = "*"
"""The finding of an action that is allowed on every resource."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """One finding of `rule` at the constructs `at`, whose paths begin with a stack's name without the prefix.

    `finding` is what the rule found, where it may find several: an ARN after `arn:<partition>:`, with `{region}` and
    `{account}` for those of the stack and `{prefix}` for how names begin; or `ANYTHING`.
    """

    rule: str
    at: tuple[str, ...]
    reason: str
    finding: str = ""


_WORKERS = tuple(f"data-plane/Worker{name.capitalize()}/Role" for name in settings.FUNCTION_QUEUES)
_LONG = "long-workers/LongWorker"
_ROUTES = "control-plane/Gateway/HttpApi"

ACKNOWLEDGED: Final = (
    Acknowledgement(
        WILDCARD,
        (*_WORKERS, "control-plane/Clerk/Role", f"{_LONG}/TaskRole"),
        "Which secrets sign webhooks and address channels is said by tenants, at any time. An operator lets a secret "
        "in by giving it a name that begins with cronfleet/; no other can be read.",
        "secretsmanager:{region}:{account}:secret:cronfleet/*",
    ),
    Acknowledgement(
        WILDCARD,
        _WORKERS,
        "Which functions are targets is said by tenants, at any time. An operator lets a function in by giving it a "
        "name that begins with cronfleet-target-; no other can be invoked.",
        "lambda:{region}:{account}:function:cronfleet-target-*",
    ),
    Acknowledgement(
        WILDCARD,
        ("control-plane/Clerk/Role",),
        "Which topics are channels is said by tenants, at any time. An operator lets a topic in by giving it a name "
        "that begins with cronfleet-alerts-; no other can be published to.",
        "sns:{region}:{account}:cronfleet-alerts-*",
    ),
    Acknowledgement(
        WILDCARD,
        ("control-plane/Clerk/Role",),
        "SES takes a sender from an identity of its own or from that of its domain, and while an account is new it "
        "looks at the recipients' as well. Mail is sent from one address, that of the configuration, by a condition.",
        "ses:{region}:{account}:identity/*",
    ),
    Acknowledgement(
        WILDCARD,
        (*_WORKERS, "control-plane/Clerk/Role"),
        "As which roles targets are called is said by tenants, at any time, and in accounts of their own. A tenant "
        "lets a role in by giving it a name that begins with cronfleet-target-, and a trust policy that asks for the "
        "external id that is this installation's and that tenant's; no other can be assumed.",
        "iam::*:role/cronfleet-target-*",
    ),
    Acknowledgement(
        WILDCARD,
        (*_WORKERS, "control-plane/Clerk/Role", "control-plane/Api/Role", f"{_LONG}/TaskRole"),
        "Where spans go to CloudWatch: xray:PutTraceSegments knows no resource that it could be narrowed to.",
        ANYTHING,
    ),
    Acknowledgement(
        WILDCARD,
        (f"{_LONG}/TaskRole",),
        "A task protects itself while it has a job, and its id is drawn when it starts. The others of this cluster are "
        "long workers too.",
        "ecs:{region}:{account}:task/{prefix}-long-workers/*",
    ),
    Acknowledgement(
        WILDCARD,
        (f"{_LONG}/ExecutionRole",),
        "A token for ECR is for no repository, and IAM takes no other resource for it. What may be pulled with it is "
        "one repository.",
        ANYTHING,
    ),
    Acknowledgement(
        "ECS2",
        (f"{_LONG}/Task",),
        "What stands there are names and addresses of this installation. Secrets are read from Secrets Manager, when a "
        "job begins, by its role.",
    ),
    Acknowledgement(
        "ECS4",
        (f"{_LONG}/Cluster",),
        "How many places there are and how many have jobs is told by the workers themselves, and scales them; memory "
        "and processor of each task would be paid for by the metric and looked at by nobody.",
    ),
    Acknowledgement(
        NO_AUTHORIZATION,
        (f"{_ROUTES}/GET--", f"{_ROUTES}/GET--docs", f"{_ROUTES}/GET--openapi.json"),
        "Three static pages that say how the API is used: they are the same for everybody and read nothing.",
    ),
    Acknowledgement(
        NO_AUTHORIZATION,
        (f"{_ROUTES}/POST--v1--heartbeats--{{token}}",),
        "Whoever pings knows a URL and no key: the token in its path is the credential, of 160 random bits, and the "
        "API looks its digest up. The route has a bucket of its own.",
    ),
    Acknowledgement(
        "SMG4",
        ("state/EdgeSecret/Secret",),
        "CloudFront takes up a new value when its stack is deployed, and only then. It is changed by hand, in steps "
        "that never close the door (docs/deploy.md); the value before it is accepted meanwhile.",
    ),
    Acknowledgement(
        "CFR3",
        ("edge/Edge/Distribution",),
        "CloudFront's log would hold paths, and the path of a ping holds its token. What comes through is in the "
        "access log of the API, what is stopped in the log of the firewall, both without it.",
    ),
    Acknowledgement(
        "CFR1",
        ("edge/Edge/Distribution",),
        "Callers are programs, which may run anywhere; who they are is said by their keys and not by their countries.",
    ),
)
