"""Packing: JSON, compressed, for what is large and read by us alone; instants, short, for what every claim pays for."""

import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

import orjson

from cronfleet.domain.freeze import HASH_CHARACTERS
from cronfleet.domain.instant import Instant

_NO_LABELS: Final = "-"
"""What a schedule without labels has there; a timer without the attribute is older than it."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def pack(value: Any) -> bytes:
    """JSON text, compressed."""
    return zlib.compress(_json(value), 6)


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # Half of a surrogate pair, which a reason may quote, or a number of more than 64 bits.
        return json.dumps(value, separators=(",", ":")).encode()


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


def packed_hashes(hashes: Sequence[str] | None) -> str | None:
    """Hashes of labels, one after the other: all are of one length. None for unknown ones."""
    return None if hashes is None else "".join(hashes) or _NO_LABELS


def unpacked_hashes(text: str | None) -> tuple[str, ...] | None:
    """The reverse of `packed_hashes`; raises `ValueError`."""
    if text is None or text == _NO_LABELS:
        return None if text is None else ()
    if len(text) == HASH_CHARACTERS:
        return (text,)
    if len(text) % HASH_CHARACTERS:
        raise ValueError(f"hashes of labels of {len(text)} characters together")
    return tuple(text[start : start + HASH_CHARACTERS] for start in range(0, len(text), HASH_CHARACTERS))
