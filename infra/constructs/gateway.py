"""Gateway: the HTTP API, its routes, and who gets past it."""

import json
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from cronfleet.settings import EDGE_HEADER
from infra.config.installation import Config
from infra.constructs.api import Api
from infra.constructs.authorizer import Authorizer
from infra.constructs.domain import ApiDomain
from infra.constructs.log_group import log_group

PUBLIC_PATHS: Final = ("/", "/docs", "/openapi.json")
"""Static pages; everything else needs a key."""

PROTECTED_PATH: Final = "/v1/{proxy+}"

HEARTBEAT_PATH: Final = "/v1/heartbeats/{token}"
"""Pings of jobs outside, which have no key: their token is one, and the API looks it up."""

CREDENTIAL: Final = "$request.header.Authorization"
EDGE: Final = f"$request.header.{EDGE_HEADER}"

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
HEADERS: Final = (
    "authorization",
    "content-type",
    "cronfleet-tenant",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "traceparent",
)
SHOWN_HEADERS: Final = ("etag", "location", "retry-after", "traceparent")
CORS_SECONDS: Final = 3_600
"""What a page in a browser may send, and may see of an answer, and for how long it need not ask whether it may."""

KEY_CACHE_SECONDS: Final = 60
"""How long the gateway trusts an answer of the authorizer: a revoked key works no longer than that."""

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
            cors_preflight=_cors(config),
            # Under a name of its own the API has no other: what lies before that name could be gone around.
            disable_execute_api_endpoint=not config.api.has_default_endpoint,
        )
        self._routes(config, api, authorizer)
        stage = self._stage(config)
        if config.api.domain is None:
            self.url = self.http_api.api_endpoint
        else:
            ApiDomain(self, "Domain", config.api.domain, stage, config.api.truststore)
            self.url = f"https://{config.api.domain.name}"

    def _routes(self, config: Config, api: Api, authorizer: Authorizer) -> None:
        integration = integrations.HttpLambdaIntegration("Integration", api.live)
        # A request without them costs nothing: the gateway refuses it by itself.
        shown = [CREDENTIAL] if config.edge is None else [CREDENTIAL, EDGE]
        guard = _guard("Guard", authorizer, shown)
        anybody = None if config.edge is None else _guard("Door", authorizer, [EDGE])
        for path in PUBLIC_PATHS:
            self.http_api.add_routes(
                path=path, methods=[apigateway.HttpMethod.GET], integration=integration, authorizer=anybody
            )
        self._pings = self.http_api.add_routes(
            path=HEARTBEAT_PATH, methods=[apigateway.HttpMethod.POST], integration=integration, authorizer=anybody
        )
        self.http_api.add_routes(
            path=PROTECTED_PATH,
            methods=[apigateway.HttpMethod.ANY],
            integration=integration,
            authorizer=guard,
        )

    def _stage(self, config: Config) -> apigateway.CfnStage:
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
                throttling_rate_limit=config.api.requests_per_second, throttling_burst_limit=config.api.burst
            ),
            route_settings={
                f"POST {HEARTBEAT_PATH}": {
                    "ThrottlingRateLimit": config.api.pings_per_second,
                    "ThrottlingBurstLimit": config.api.ping_burst,
                }
            },
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=arn, format=json.dumps(ACCESS_LOG_FIELDS)
            ),
        )
        # A stage that names a route is refused while that route is not there.
        stage.node.add_dependency(*self._pings)
        return stage


def _guard(construct_id: str, authorizer: Authorizer, shown: list[str]) -> authorizers.HttpLambdaAuthorizer:
    return authorizers.HttpLambdaAuthorizer(
        construct_id,
        authorizer.live,
        response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
        identity_source=shown,
        results_cache_ttl=cdk.Duration.seconds(KEY_CACHE_SECONDS),
    )


def _cors(config: Config) -> apigateway.CorsPreflightOptions | None:
    if not config.api.cors_origins:
        return None
    return apigateway.CorsPreflightOptions(
        allow_origins=list(config.api.cors_origins),
        allow_methods=[apigateway.CorsHttpMethod[name] for name in METHODS],
        allow_headers=list(HEADERS),
        expose_headers=list(SHOWN_HEADERS),
        max_age=cdk.Duration.seconds(CORS_SECONDS),
    )
