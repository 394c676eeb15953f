"""An identity provider on this machine: its keys over HTTP, and tokens as good or as bad as a test wants them."""

import functools
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cronfleet.domain.instant import SECOND
from cronfleet.settings import Oidc
from tests.support.settable_clock import NOON

AUDIENCE = "cronfleet"
HOUR_SECONDS = 3_600


@functools.cache
def rsa_key(number: int = 0, bits: int = 2_048) -> rsa.RSAPrivateKey:
    """Private keys, made once: a test needs one and does not care which."""
    return rsa.generate_private_key(public_exponent=65_537, key_size=bits)


@functools.cache
def ec_key(number: int = 0) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def jwk_of(private: Any, key_id: str, **more: Any) -> dict[str, Any]:
    """The public half as a JWK."""
    algorithms = jwt.algorithms
    kind = algorithms.RSAAlgorithm if isinstance(private, rsa.RSAPrivateKey) else algorithms.ECAlgorithm
    return {**kind.to_jwk(private.public_key(), as_dict=True), "kid": key_id, **more}


class Provider:
    """What it serves lies open; `asked` lists the paths that were fetched."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [jwk_of(rsa_key(), "rsa-1"), jwk_of(ec_key(), "ec-1")]
        self.status = 200
        self.content: bytes | None = None
        self.asked: list[str] = []
        self.issuer = ""
        self.headers: dict[str, str] = {}

    @property
    def oidc(self) -> Oidc:
        return Oidc(self.issuer, AUDIENCE)

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Claims that are let in, but for `changes`; `None` takes one away."""
        now = int(time.time())
        good = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "ada@example.com",
            # Also by the clocks of tests, which stand still at noon of some day.
            "exp": max(now, NOON // SECOND) + HOUR_SECONDS,
            "iat": now,
            "cronfleet_tenant": "acme",
            "cronfleet_role": "editor",
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def token(self, key_id: str | None = "rsa-1", key: Any = None, algorithm: str = "RS256", **changes: Any) -> str:
        """A token, signed with the first RSA key unless a test says otherwise."""
        headers = {} if key_id is None else {"kid": key_id}
        signing = rsa_key() if key is None else key
        return jwt.encode(self.claims(**changes), signing, algorithm=algorithm, headers=headers)

    def answer(self, path: str) -> bytes:
        self.asked.append(path)
        if self.content is not None:
            return self.content
        if path == "/.well-known/openid-configuration":
            return json.dumps({"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}).encode()
        return json.dumps({"keys": self.keys}).encode()


@contextmanager
def identity_provider() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = provider.answer(self.path)
            self.send_response(provider.status)
            for name, value in provider.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _encoded(value: Any) -> str:
    return jwt.utils.base64url_encode(json.dumps(value).encode()).decode()


def unsigned(provider: Provider) -> str:
    """A token that claims to need no signature."""
    return f"{_encoded({'alg': 'none', 'typ': 'JWT', 'kid': 'rsa-1'})}.{_encoded(provider.claims())}."


def signed_with_the_public_key(provider: Provider) -> str:
    """The old trick: HS256 with the provider's public key, which everybody knows, as the secret."""
    public = rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{_encoded({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rsa-1'})}.{_encoded(provider.claims())}"
    seal = hmac.new(public, head.encode(), hashlib.sha256).digest()
    return f"{head}.{jwt.utils.base64url_encode(seal).decode()}"


def wrong_tokens(provider: Provider) -> dict[str, str]:
    """Tokens that nobody is let in with, by what is wrong with them."""
    now = int(time.time())
    good = provider.token()
    head, body, seal = good.split(".")
    return {
        "wrong issuer": provider.token(iss="https://id.example.com"),
        "no issuer": provider.token(iss=None),
        "wrong audience": provider.token(aud="another"),
        "no audience": provider.token(aud=None),
        "no algorithm": unsigned(provider),
        "HS256 with the public key": signed_with_the_public_key(provider),
        "another algorithm of the same key": provider.token(algorithm="RS512"),
        "PS256 of the same key": provider.token(algorithm="PS256"),
        "expired": provider.token(exp=now - 60),
        "no end": provider.token(exp=None),
        "not yet valid": provider.token(nbf=now + 600),
        "issued in the future": provider.token(iat=now + 600),
        "unknown key": provider.token(key_id="rsa-9"),
        "no key named": provider.token(key_id=None),
        "another's key under a known name": provider.token(key=rsa_key(9)),
        "a key of another kind under a known name": provider.token(key_id="ec-1"),
        "altered": f"{head}.{_encoded(provider.claims(cronfleet_role='platform_admin'))}.{seal}",
        "no signature": f"{head}.{body}.",
        "no subject": provider.token(sub=None),
        "an empty subject": provider.token(sub=""),
        "a subject that cannot be printed": provider.token(sub="ada\nforged"),
        "no tenant": provider.token(cronfleet_tenant=None),
        "a tenant that is no id": provider.token(cronfleet_tenant="acme#other"),
        "several tenants": provider.token(cronfleet_tenant=["acme", "rival"]),
        "a tenant that is not there": provider.token(cronfleet_tenant="nobody"),
        "no role": provider.token(cronfleet_role=None),
        "a role that is none": provider.token(cronfleet_role="root"),
        "roles that are none": provider.token(cronfleet_role=["admin", {}, 1]),
        "a role that is no text": provider.token(cronfleet_role={"role": "editor"}),
    }
