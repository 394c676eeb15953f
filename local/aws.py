"""The emulator's AWS API."""

from collections.abc import Iterator
from typing import Any

import boto3
from botocore.config import Config

from local import surroundings


class Aws:
    """Clients of the emulator's AWS API, made when first asked for."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._clients: dict[str, Any] = {}
        self._config = Config(
            connect_timeout=5, read_timeout=60, retries={"max_attempts": 2}, parameter_validation=False
        )

    def client(self, service: str) -> Any:
        """The boto3 client of `service`."""
        if service not in self._clients:
            # boto3-stubs knows each service by a literal name; here it is a variable.
            make_client: Any = boto3.client
            self._clients[service] = make_client(
                service,
                endpoint_url=self._endpoint,
                region_name=surroundings.REGION,
                aws_access_key_id="test",
                aws_secret_access_key="test",  # noqa: S106 - the emulator takes any
                config=self._config,
            )
        return self._clients[service]

    def all(self, service: str, operation: str, field: str, **arguments: Any) -> Iterator[Any]:
        """Every item of `field` in all pages of `operation`."""
        for page in self.client(service).get_paginator(operation).paginate(**arguments):
            yield from page.get(field, ())
