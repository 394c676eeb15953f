"""Where requests go, in whose name and through what: found as botocore finds it, without its models of the services."""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import NoRegionError
from botocore.session import Session

from cronfleet.adapters.aws.wire import Wire

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.hooks import BaseEventHooks

_RULES: Final = "endpoint-rule-set-1"


@dataclass(frozen=True, slots=True)
class Place:
    """One service in one region, as this process reaches it."""

    url: str
    region: str
    """Which requests are signed for."""
    credentials: "Credentials | None"
    """May renew themselves: who signs takes what holds at the moment."""
    wire: Wire
    events: "BaseEventHooks"
    """The client's own: what was registered with the session is in it, moto among others."""
    user_agent: str


def place_of(service: str, session: Session, config: Config) -> Place:
    """Where `service` is for `session`: its region, profile, endpoints by environment or file, proxies, certificates.

    Raises botocore's `NoRegionError`.
    """
    region = session.get_config_variable("region")
    if not region:
        raise NoRegionError
    credentials = session.get_credentials()
    url = _configured(service, session) or _resolved(service, session, region, credentials)
    url = url if urlsplit(url).path else f"{url}/"
    return Place(
        url=url,
        region=region,
        credentials=credentials,
        wire=Wire(url, session, config),
        events=copy.copy(session.get_component("event_emitter")),
        user_agent=session.user_agent(),
    )


def _configured(service: str, session: Session) -> str | None:
    """AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, or what the configuration file says."""
    if session.get_config_variable("ignore_configured_endpoint_urls"):
        return None
    found = ConfiguredEndpointProvider(
        full_config=session.full_config, scoped_config=session.get_scoped_config(), client_name=service
    ).provide()
    return None if found is None else str(found)


def _resolved(service: str, session: Session, region: str, credentials: "Credentials | None") -> str:
    """What the service's rules say of its endpoint: partition, FIPS, dual stack, and the account's own where it is."""
    loader = session.get_component("data_loader")
    rules = loader.load_service_model(service, _RULES)
    known: dict[str, Any] = {
        "Region": region,
        "UseFIPS": bool(session.get_config_variable("use_fips_endpoint")),
        "UseDualStack": bool(session.get_config_variable("use_dualstack_endpoint")),
    }
    if "AccountIdEndpointMode" in rules["parameters"]:
        known["AccountIdEndpointMode"] = session.get_config_variable("account_id_endpoint_mode")
        account = credentials and credentials.get_frozen_credentials().account_id
        known |= {"AccountId": account} if account else {}
    found: str = EndpointProvider(rules, loader.load_data("partitions")).resolve_endpoint(**known).url
    return found
