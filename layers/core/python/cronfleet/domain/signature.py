"""Failure signatures: what is the same about failures that differ only in numbers, ids, names and addresses.

A signature is a readable template (`webhook failed: status 503 from <address>`) and a short digest of it. It is
computed when a run dies and kept with its row, so that a thousand rows are told apart by what went wrong with them.
"""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, assert_never

from cronfleet.domain.target import (
    EcsTaskTarget,
    EventBridgeTarget,
    HandlerTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    WebhookTarget,
)

DIGEST_CHARACTERS: Final = 12
"""Of a signature, in hexadecimal digits: a tenant has far too few kinds of failure for two to meet."""

DIGEST: Final = re.compile(rf"[0-9a-f]{{{DIGEST_CHARACTERS}}}")

MAX_ERROR_READ: Final = 2_000
"""Characters of an error that are looked at."""

MAX_TEMPLATE: Final = 160
"""Characters of a template. It is part of the digest: what comes later in an error tells no failures apart."""

# In this order: each leaves words that no later one takes for something else. None can run long on any text.
_BLOTS: Final = (
    (re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s'\"<>]+", re.IGNORECASE), "<address>"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(\.[\w-]{1,63}){1,8}"), "<address>"),
    (re.compile(r'"[^"]*("|$)'), "<text>"),
    # An apostrophe inside a word opens nothing.
    (re.compile(r"(?<!\w)'[^']*('|$)"), "<text>"),
    (re.compile(r"`[^`]*(`|$)"), "<text>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?\b"), "<address>"),
    (re.compile(r"(?<![\w:])\[?([0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?![\w:])", re.IGNORECASE), "<address>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    # A name of some length with a digit in it: a request's id, a token, an object's key, a run's id.
    (re.compile(r"\b(?=[\w~-]{0,40}\d)[\w~-]{12,}(?!\w)"), "<id>"),
    (re.compile(r"(?<![\w.])(/[\w.@+-]+){2,}/?"), "<path>"),
)

# Of numbers these say what kind of failure it is.
_TELLING: Final = re.compile(
    r"(?P<word>\b(?:status(?: code)?|http(?:/[\d.]+)?|answered|exit code|errno)\W{1,3})(?P<number>\d{1,3})(?!\d)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![a-zA-Z_])[-+]?\d+([.,:]\d+)*")


@dataclass(frozen=True, slots=True, order=True)
class Signature:
    """What a failure has in common with others of its kind: the digest of its template, and the template."""

    digest: str
    template: str


def signature_of(outcome: str, error: str | None, target: str = "") -> Signature:
    """The signature of a failure: how it ended, what it said, and the kind of target that said so (`target_kind`).

    The same error with other numbers, ids, quoted words or addresses has the same one.
    """
    how = f"{target} {outcome}".strip()
    template = f"{how}: {blotted(error)}" if error else how
    template = template[:MAX_TEMPLATE]
    return Signature(blake2b(template.encode(), digest_size=DIGEST_CHARACTERS // 2).hexdigest(), template)


def blotted(error: str) -> str:
    """`error` in one line, with all that tells two failures of one kind apart blotted out."""
    text = " ".join(error[:MAX_ERROR_READ].split())
    for pattern, word in _BLOTS:
        text = pattern.sub(word, text)
    return _without_numbers(text)


def _without_numbers(text: str) -> str:
    """`text` without its numbers, but for those that say what kind of failure it is."""
    parts: list[str] = []
    last = 0
    for found in _TELLING.finditer(text):
        parts += [_NUMBER.sub("<n>", text[last : found.start()]), found["word"], found["number"]]
        last = found.end()
    return "".join([*parts, _NUMBER.sub("<n>", text[last:])])


def target_kind(target: Target) -> str:
    """The word for the kind of a target."""
    match target:
        case HandlerTarget():
            return "handler"
        case WebhookTarget():
            return "webhook"
        case LambdaTarget():
            return "lambda"
        case SqsTarget():
            return "sqs"
        case SnsTarget():
            return "sns"
        case EventBridgeTarget():
            return "event_bus"
        case StepFunctionsTarget():
            return "state_machine"
        case EcsTaskTarget():
            return "ecs_task"
    assert_never(target)
