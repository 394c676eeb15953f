"""Packing: JSON, compressed, for what is large and read by us alone."""

import json
import zlib
from typing import Any


def pack(value: Any) -> bytes:
    """JSON text, compressed."""
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> Any:
    """The reverse of `pack`; raises `ValueError` for anything else."""
    try:
        return json.loads(zlib.decompress(packed))
    except zlib.error as error:
        raise ValueError(f"not packed JSON: {error}") from error
