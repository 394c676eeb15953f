"""Targets: which handlers, URLs and functions a schedule may name."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from cronfleet.domain.errors import Invalid
from cronfleet.domain.target import (
    LAMBDA_FUNCTION,
    SECRET_NAME,
    HandlerTarget,
    LambdaTarget,
    Target,
    WebhookTarget,
    may_read,
    secret_prefix,
)

from .role_targets import role_target
from .schemas import TARGET_FIELDS as FIELDS
from .schemas import TargetBody

_HANDLER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_HOST_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_KEY_PREFIXES: Final = ("whsec_", "whsk_", "sk_", "AKIA")


def target_of(body: TargetBody, tenant: str, allowed_networks: tuple[str, ...]) -> Target:
    """The target of `body`; raises `Invalid` with the field below `target`."""
    written = body.model_dump(exclude_unset=True, by_alias=True)
    kind = _kind(written)
    if "secret" in written and kind != "url":
        raise Invalid("target.secret", f"signs a webhook; it goes with url, not with {kind}")
    if "secrets" in written and kind != "handler":
        raise Invalid("target.secrets", f"are a handler's; they go with handler, not with {kind}")
    for name in written.keys() - FIELDS[kind] - {kind}:
        raise Invalid(f"target.{name}", f"goes with {' or '.join(_with(name))}, not with {kind}")
    match kind:
        case "handler":
            return _handler(body.handler, body.secrets, tenant)
        case "url":
            return _webhook(body, "secret" in written, tenant, allowed_networks)
        case "lambda":
            return _lambda(body.function)
        case _:
            return role_target(kind, written)


def _kind(written: Mapping[str, object]) -> str:
    kinds = [kind for kind in FIELDS if kind in written]
    if len(kinds) == 1:
        return kinds[0]
    found = f"not {' and '.join(kinds)} together" if kinds else "not none of them"
    *first, last = FIELDS
    raise Invalid("target", f"has exactly one of {', '.join(first)} and {last}, {found}")


def _with(name: str) -> list[str]:
    return [kind for kind, names in FIELDS.items() if name in names]


def _handler(name: str, secrets: Mapping[str, str], tenant: str) -> HandlerTarget:
    if not _HANDLER.fullmatch(name):
        raise Invalid("target.handler", f"{name!r} is no handler's name; write it as registered: billing.nightly")
    for own_name, reference in secrets.items():
        if not SECRET_NAME.fullmatch(own_name):
            raise Invalid(
                "target.secrets", f"{own_name[:64]!r} is no name: write letters, digits and underscores: API_TOKEN"
            )
        _check_secret(reference, tenant, f"target.secrets.{own_name}")
    return HandlerTarget(name, tuple(sorted(secrets.items())))


def _lambda(function: str) -> LambdaTarget:
    if not LAMBDA_FUNCTION.fullmatch(function):
        raise Invalid(
            "target.lambda",
            f"{function!r} is no function that may be called: write cronfleet-target-<name> (or its ARN), with "
            ":alias or :version if you like",
        )
    return LambdaTarget(function)


def _webhook(body: TargetBody, has_secret: bool, tenant: str, allowed_networks: tuple[str, ...]) -> WebhookTarget:
    check_url(body.url, "target.url", allowed_networks)
    if has_secret:
        _check_secret(body.secret, tenant, "target.secret")
    return WebhookTarget(body.url, body.secret if has_secret else None)


def check_url(url: str, field: str, allowed_networks: tuple[str, ...]) -> None:
    """Raises `Invalid` for `field` unless `url` is one that may be called; what its name leads to is judged then."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise Invalid(field, "may hold only printable ASCII without blanks; percent-encode the rest")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Invalid(field, f"{url!r} is no URL: {error}") from error
    schemes = ("https", "http") if allowed_networks else ("https",)
    if parts.scheme not in schemes:
        raise Invalid(field, f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if parts.username is not None or parts.password is not None:
        raise Invalid(field, "must not hold a user or password; sign the request with a secret instead")
    if parts.fragment:
        raise Invalid(field, "has a fragment (#…), which is never sent; leave it out")
    if port == 0:
        raise Invalid(field, "has port 0; write 1 to 65535, or no port")
    _check_host(parts, field, allowed_networks)


def _check_host(parts: SplitResult, field: str, allowed_networks: tuple[str, ...]) -> None:
    host = parts.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if len(host) > 253 or not all(map(_HOST_LABEL.fullmatch, host.removesuffix(".").split("."))):
            raise Invalid(field, f"{host!r} is no host name") from None
        return
    allowed = any(address in ipaddress.ip_network(network, strict=False) for network in allowed_networks)
    if not address.is_global and not allowed:
        raise Invalid(field, f"{host} is a private address, which webhooks must not reach")
    if parts.scheme == "http" and not allowed:
        raise Invalid(field, f"must begin with https://: {host} is in none of the networks that http may reach")


def _check_secret(secret: str, tenant: str, field: str) -> None:
    if secret.startswith(_KEY_PREFIXES):
        raise Invalid(
            field,
            "looks like a key itself. Put the key into Secrets Manager and write its name here",
        )
    if not may_read(tenant, secret):
        raise Invalid(field, f"must be the name of a secret of yours: {secret_prefix(tenant)}<name>")
