"""Signing for CloudWatch's OTLP endpoint, by which AWS knows who sends spans (Signature Version 4).

botocore is there for everything else; of it only what signs is used here, since boto3 has no client for that endpoint.
"""

from collections.abc import Mapping
from typing import Final

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import get_session

_SERVICE: Final = "xray"
"""In whose name requests to the endpoint for traces are signed; the role needs `xray:PutTraceSegments`."""


class Signature:
    """Signs with the process's own credentials, which are looked for when the first request is signed."""

    def __init__(self, region: str, credentials: Credentials | None = None) -> None:
        self._region = region
        self._credentials = credentials

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        """`headers` with those of the signature; as they are where there are no credentials, which AWS then refuses."""
        if self._credentials is None:
            self._credentials = get_session().get_credentials()
        if self._credentials is None:
            return dict(headers)
        request = AWSRequest("POST", url, data=body, headers=dict(headers))
        SigV4Auth(self._credentials, _SERVICE, self._region).add_auth(request)
        return dict(request.headers.items())
