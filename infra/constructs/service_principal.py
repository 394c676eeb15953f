"""Service principals that act for this account alone, so that nobody else's resource makes a service use our roles."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct


def acting_for_this_account(scope: Construct, service: str, *, says_always: bool = True) -> iam.ServicePrincipal:
    """`service` in a trust policy, for resources of the account of `scope`.

    `says_always`: it names the account whose resource it acts for each time that it takes the role, as its own
    documentation says. Of one whose documentation does not say so (Lambda and CodeDeploy), an account that is named
    must be this one: a role cannot be passed to another account's resource as it is.
    """
    test = "StringEquals" if says_always else "StringEqualsIfExists"
    return iam.ServicePrincipal(service, conditions={test: {"aws:SourceAccount": cdk.Stack.of(scope).account}})
