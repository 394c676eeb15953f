"""Packing: JSON, compressed, for what is large and read by us alone; instants, short, for what every claim pays for."""

import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

from cronfleet.domain.instant import Instant

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def pack(value: Any) -> bytes:
    """JSON text, compressed."""
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> Any:
    """The reverse of `pack`; raises `ValueError` for anything else."""
    try:
        return json.loads(zlib.decompress(packed))
    except zlib.error as error:
        raise ValueError(f"not packed JSON: {error}") from error


def packed_instants(instants: Sequence[Instant]) -> str | None:
    """Instants to the base of 36, with dots between: eight characters each until 2059; None for none."""
    return ".".join(map(_to_base_36, instants)) or None


def _to_base_36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, len(_DIGITS))
        digits = _DIGITS[rest] + digits
    return digits or "0"


def unpacked_instants(text: str) -> tuple[Instant, ...]:
    """The reverse of `packed_instants`; raises `ValueError`. The first timers had a JSON array of numbers there."""
    if text.startswith("["):
        return tuple(map(int, json.loads(text)))
    return tuple(int(digits, len(_DIGITS)) for digits in text.split(".")) if text else ()
