"""With whose key the tables and the logs are encrypted at rest."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from infra.config.context import Context

AWS: Final = "aws"
OWN: Final = "own"
KEY_ARN: Final = (
    r"arn:aws[a-z-]*:kms:([a-z0-9-]+):[0-9]{12}:key/(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)

Kind = Literal["aws", "own", "given"]


@dataclass(frozen=True, slots=True)
class Encryption:
    """`kind` is `aws` for keys of AWS, `own` for one that the installation makes, `given` for the one of `arn`."""

    kind: Kind
    arn: str = ""


def encryption_of(context: Context) -> Encryption:
    """The choice `encryption.key`."""
    key = context.text("encryption.key") or AWS
    if key == AWS:
        return Encryption("aws")
    found, region = re.fullmatch(KEY_ARN, key), context.text("region")
    if not found and key != OWN:
        context.refuse("encryption.key", key, "aws, own, or the ARN of a KMS key")
    if not region:
        # A table names its key for each region that it lies in.
        context.refuse("encryption.key", key, "'region' as well, or aws: a key encrypts in its own region alone")
    if not found:
        return Encryption("own")
    if found.group(1) != region:
        context.refuse("encryption.key", key, f"the ARN of a key in {region}: a key encrypts in its own region alone")
    return Encryption("given", key)
