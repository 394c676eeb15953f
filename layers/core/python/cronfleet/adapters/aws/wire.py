"""Requests on the wire: signed by botocore's signer, sent on connections of urllib3, which are kept.

Errors are botocore's, so that whoever knows them from boto3's clients knows these.
"""

import os
import socket
import ssl
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from botocore.auth import SIGNED_HEADERS_BLACKLIST, SigV4Auth
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import ProxyConfiguration, create_urllib3_context, get_cert_path, mask_proxy_url
from botocore.session import Session
from botocore.utils import get_environ_proxies
from urllib3 import HTTPConnectionPool, PoolManager, Timeout, exceptions, proxy_from_url

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_NO_DELAY: Final = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
_ALIVE: Final = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
_UNSIGNED: Final = frozenset(SIGNED_HEADERS_BLACKLIST)


class Headers(dict[str, str]):
    """Headers of a request, each once."""

    def get_all(self, name: str) -> list[str]:
        """The values of one, as the signer asks for them."""
        return [self[name]]


class Request(AWSPreparedRequest):
    """A POST, with what botocore's hooks find in one of its own. `context` is that of all attempts of one call."""

    params: ClassVar[dict[str, str]] = {}
    """The signer looks for a query; AWS JSON has none."""

    def __init__(self, url: str, headers: Headers, body: bytes, context: dict[str, Any]) -> None:
        made: Any = super().__init__  # The stubs do not know of the context.
        made("POST", url, headers, body, stream_output=False, context=context)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole."""

    status_code: int
    headers: Any
    """A mapping that takes names in any case."""
    content: bytes


class _Signer(SigV4Auth):
    def headers_to_sign(self, request: Any) -> Any:
        # By its own account these come as an e-mail's headers, which takes longer than all of the cryptography.
        return Headers(
            (name, value)
            for name, value in ((name.lower(), value) for name, value in request.headers.items())
            if name not in _UNSIGNED
        )


def sign(request: Request, credentials: "Credentials | None", service: str, region: str) -> None:
    """Sign `request`, which names its host; raises botocore's `NoCredentialsError`."""
    if credentials is None:
        raise NoCredentialsError
    # They renew themselves between two requests, never within one.
    frozen: Any = credentials.get_frozen_credentials()
    signed: Any = request
    _Signer(frozen, service, region).add_auth(signed)


class Wire:
    """Connections to the host of `url`, through a proxy where the environment names one for it."""

    def __init__(self, url: str, session: Session, config: Config) -> None:
        proxies = ProxyConfiguration(get_environ_proxies(url))
        self._url = url
        self._proxy = proxies.proxy_url_for(url)
        kept = _kept(url, session, config)
        if self._proxy:
            headers = proxies.proxy_headers_for(self._proxy)
            manager: PoolManager = proxy_from_url(self._proxy, proxy_headers=headers, **kept)
        else:
            manager = PoolManager(**kept)
        self._pool: HTTPConnectionPool = manager.connection_from_url(url)
        parts = urlsplit(url)
        # Who forwards plain HTTP is told all of the address.
        self._target = url if self._proxy and parts.scheme == "http" else parts.path or "/"

    def send(self, request: Request) -> Reply:
        """The reply; raises what botocore raises where there is none."""
        sent: Any = request  # The stubs say what else botocore's own may hold.
        try:
            reply = self._pool.urlopen(
                sent.method,
                self._target,
                body=sent.body,
                headers=sent.headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                decode_content=False,
            )
        except (exceptions.HTTPError, OSError) as error:
            raise self._known(error) from error
        return Reply(reply.status, reply.headers, reply.data)

    def _known(self, error: Exception) -> Exception:
        of: dict[str, Any] = {"error": error, "endpoint_url": self._url}
        match error:
            case exceptions.SSLError():
                return SSLError(**of)
            case exceptions.NewConnectionError() | socket.gaierror():
                return EndpointConnectionError(**of)
            case exceptions.ProxyError():
                return ProxyConnectionError(error=error, proxy_url=mask_proxy_url(self._proxy))
            case exceptions.ConnectTimeoutError():
                return ConnectTimeoutError(**of)
            case exceptions.ReadTimeoutError():
                return ReadTimeoutError(**of)
            case exceptions.ProtocolError():
                return ConnectionClosedError(**of)
        return HTTPClientError(error=error)


def _kept(url: str, session: Session, config: Config) -> dict[str, Any]:
    """What holds for every connection."""
    limits: Any = config  # Its attributes are set from a table, which the stubs know in part.
    options: dict[str, Any] = {
        "timeout": Timeout(connect=limits.connect_timeout, read=limits.read_timeout),
        "maxsize": limits.max_pool_connections,
        "socket_options": [_NO_DELAY, _ALIVE] if session.get_config_variable("tcp_keepalive") else [_NO_DELAY],
    }
    if url.startswith("https:"):
        bundle = session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE")
        options["ssl_context"] = _trusting(bundle or get_cert_path(True))
    return options


@cache
def _trusting(bundle: str) -> ssl.SSLContext:
    # Once, since to read the certificates takes longer than all the rest of a connection. urllib3 compares host names.
    context: ssl.SSLContext = create_urllib3_context()
    context.load_verify_locations(cafile=bundle)
    return context
