"""With whose key the tables and the logs are encrypted at rest."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from infra.config.context import Context

AWS: Final = "aws"
OWN: Final = "own"
KEY_ARN: Final = r"arn:aws[a-z-]*:kms:([a-z0-9-]+):\d{12}:key/[\w-]+"

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
    if key == OWN:
        return Encryption("own")
    found, region = re.fullmatch(KEY_ARN, key), context.text("region")
    if not found:
        context.refuse("encryption.key", key, "aws, own, or the ARN of a KMS key")
    if region and found.group(1) != region:
        context.refuse("encryption.key", key, f"the ARN of a key in {region}: a key encrypts in its own region alone")
    return Encryption("given", key)
