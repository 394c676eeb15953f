"""Gateway: the HTTP API, its routes, and who gets past it."""

import json
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from infra.config.installation import Config
from infra.constructs.api import Api
from infra.constructs.authorizer import Authorizer
from infra.constructs.log_group import log_group

PUBLIC_PATHS: Final = ("/", "/docs", "/openapi.json")
"""Static pages; everything else needs a key."""

PROTECTED_PATH: Final = "/v1/{proxy+}"

HEARTBEAT_PATH: Final = "/v1/heartbeats/{token}"
"""Pings of jobs outside, which have no key: their token is one, and the API looks it up."""

PINGS_PER_SECOND: Final = 200
PING_BURST: Final = 400
"""A bucket of their own: whoever floods the one route that needs no key takes nothing from the others."""

KEY_CACHE_SECONDS: Final = 60
"""How long the gateway trusts an answer of the authorizer: a revoked key works no longer than that."""

REQUESTS_PER_SECOND: Final = 500
BURST: Final = 1000

# Not the path: that of a ping holds its token. What was changed, and where, says the audit log by `request_id`.
ACCESS_LOG_FIELDS: Final = {
    "request_id": "$context.requestId",
    "time": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "route": "$context.routeKey",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "home_tenant": "$context.authorizer.tenant",
    "role": "$context.authorizer.role",
    "credential": "$context.authorizer.key_id",
    "error": "$context.error.message",
    "authorizer_error": "$context.authorizer.error",
}


class Gateway(Construct):
    """The HTTP API in front of `Api`, guarded by `Authorizer`."""

    def __init__(
        self, scope: Construct, construct_id: str, config: Config, *, api: Api, authorizer: Authorizer
    ) -> None:
        super().__init__(scope, construct_id)
        self.http_api = apigateway.HttpApi(
            self,
            "HttpApi",
            api_name=config.prefix,
            description="Cronfleet's API: schedules and their runs",
            create_default_stage=False,
        )
        self._routes(api, authorizer)
        self._stage(config)

    def _routes(self, api: Api, authorizer: Authorizer) -> None:
        integration = integrations.HttpLambdaIntegration("Integration", api.live)
        guard = authorizers.HttpLambdaAuthorizer(
            "Guard",
            authorizer.live,
            response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
            identity_source=["$request.header.Authorization"],
            results_cache_ttl=cdk.Duration.seconds(KEY_CACHE_SECONDS),
        )
        for path in PUBLIC_PATHS:
            self.http_api.add_routes(path=path, methods=[apigateway.HttpMethod.GET], integration=integration)
        self._pings = self.http_api.add_routes(
            path=HEARTBEAT_PATH, methods=[apigateway.HttpMethod.POST], integration=integration
        )
        self.http_api.add_routes(
            path=PROTECTED_PATH,
            methods=[apigateway.HttpMethod.ANY],
            integration=integration,
            authorizer=guard,
        )

    def _stage(self, config: Config) -> None:
        # AWS limits how many log groups outside /aws/vendedlogs/ it may be let into.
        access_logs = log_group(
            self,
            "AccessLogs",
            config,
            f"/aws/vendedlogs/apigateway/{config.prefix}",
            config.logs.access_retention_days,
        )
        arn = cdk.Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=access_logs.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        stage = apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.http_api.api_id,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=REQUESTS_PER_SECOND, throttling_burst_limit=BURST
            ),
            route_settings={
                f"POST {HEARTBEAT_PATH}": {
                    "ThrottlingRateLimit": PINGS_PER_SECOND,
                    "ThrottlingBurstLimit": PING_BURST,
                }
            },
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=arn, format=json.dumps(ACCESS_LOG_FIELDS)
            ),
        )
        # A stage that names a route is refused while that route is not there.
        stage.node.add_dependency(*self._pings)
