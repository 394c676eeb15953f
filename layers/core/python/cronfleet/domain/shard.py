"""Shards: which dispatcher serves a schedule."""

import hashlib
from typing import Final

MAX_SHARDS: Final = 1_024
"""Shards of one installation; the number may be raised on a live system, every item carries its own shard."""

DEFAULT_SHARDS: Final = 64
"""Shards of an installation that does not say otherwise."""


def shard_of(tenant: str, schedule_id: str, shards: int) -> int:
    """The shard, in 0..shards-1, of a schedule: by its id, never by its tenant alone, so that one tenant spreads."""
    digest = hashlib.blake2b(f"{tenant}#{schedule_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards
