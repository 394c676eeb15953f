"""Firewall: what WAF lets through to CloudFront."""

from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from infra.config.edge import Edge
from infra.config.installation import Config
from infra.config.logs import DAYS

FIVE_MINUTES: Final = 300

BODIES: Final = ("SizeRestrictions_BODY", "GenericRFI_BODY", "EC2MetaDataSSRF_BODY", "CrossSiteScripting_BODY")
"""Rules that only count: the body of a schedule is whatever its job wants, and holds the URL of its webhook."""


@dataclass(frozen=True, slots=True)
class ManagedRules:
    """Rules that AWS keeps up to date; `counted` are those of them that block nothing."""

    name: str
    counted: tuple[str, ...] = ()


MANAGED: Final = (
    ManagedRules("AWSManagedRulesAmazonIpReputationList"),
    ManagedRules("AWSManagedRulesKnownBadInputsRuleSet"),
    ManagedRules("AWSManagedRulesCommonRuleSet", BODIES),
)


class Firewall(Construct):
    """A limit for each address, AWS's rules, and a log of what was let through or not."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, edge: Edge) -> None:
        super().__init__(scope, construct_id)
        rules = [_rate(edge), *(_managed(place, one) for place, one in enumerate(MANAGED, start=1))]
        acl = waf.CfnWebACL(
            self,
            "Acl",
            name=config.prefix,
            scope="CLOUDFRONT",
            default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_visible(config.prefix),
            rules=rules,
        )
        self.arn = acl.attr_arn
        self._log(config, acl)

    def _log(self, config: Config, acl: waf.CfnWebACL) -> None:
        # The beginning of the name is WAF's. AWS's key: the installation's own lies in another region.
        group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"aws-waf-logs-{config.prefix}",
            retention=logs.RetentionDays[DAYS[config.logs.access_retention_days]],
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        arn = cdk.Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        waf.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=acl.attr_arn,
            log_destination_configs=[arn],
            # A key, and the token in the path of a ping, are nobody's to read.
            redacted_fields=[
                waf.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": "authorization"}),
                waf.CfnLoggingConfiguration.FieldToMatchProperty(uri_path={}),
            ],
        )


def _rate(edge: Edge) -> waf.CfnWebACL.RuleProperty:
    limit = waf.CfnWebACL.RateBasedStatementProperty(
        limit=edge.requests_per_five_minutes, aggregate_key_type="IP", evaluation_window_sec=FIVE_MINUTES
    )
    return waf.CfnWebACL.RuleProperty(
        name="rate",
        priority=0,
        action=waf.CfnWebACL.RuleActionProperty(block={}),
        statement=waf.CfnWebACL.StatementProperty(rate_based_statement=limit),
        visibility_config=_visible("rate"),
    )


def _managed(place: int, rules: ManagedRules) -> waf.CfnWebACL.RuleProperty:
    counted = [
        waf.CfnWebACL.RuleActionOverrideProperty(name=name, action_to_use=waf.CfnWebACL.RuleActionProperty(count={}))
        for name in rules.counted
    ]
    group = waf.CfnWebACL.ManagedRuleGroupStatementProperty(
        vendor_name="AWS", name=rules.name, rule_action_overrides=counted or None
    )
    return waf.CfnWebACL.RuleProperty(
        name=rules.name,
        priority=place,
        override_action=waf.CfnWebACL.OverrideActionProperty(none={}),
        statement=waf.CfnWebACL.StatementProperty(managed_rule_group_statement=group),
        visibility_config=_visible(rules.name),
    )


def _visible(name: str) -> waf.CfnWebACL.VisibilityConfigProperty:
    return waf.CfnWebACL.VisibilityConfigProperty(
        metric_name=name,
        cloud_watch_metrics_enabled=True,
        # A sample shows whole requests, with their keys.
        sampled_requests_enabled=False,
    )
