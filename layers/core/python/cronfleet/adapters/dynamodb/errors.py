"""What DynamoDB's errors mean: no answer, a failed condition, a cancelled transaction, or a mistake of ours."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - its own name for it
from botocore.parsers import ResponseParserError

from cronfleet.ports.job_store import NoAnswer

Item: TypeAlias = Mapping[str, Any]
"""A stored item as the client gives it: attribute name → `{type: value}`."""

Request = ParamSpec("Request")
Answer = TypeVar("Answer")

CONDITION_FAILED: Final = "ConditionalCheckFailed"
REFUSED_FOR_GOOD: Final = frozenset({"ValidationException", "ItemCollectionSizeLimitExceededException"})
"""The request itself can never be carried out."""

_NO_ANSWER: Final = frozenset(
    {
        "InternalServerError",
        "InternalServerErrorException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_CROSSED: Final = "TransactionConflict"
_NO_ANSWER_IN_TRANSACTION: Final = frozenset(
    {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError", _CROSSED}
)
_NO_ANSWER_IN_BATCH: Final = _NO_ANSWER_IN_TRANSACTION | {"InternalServerError"}
_BROKEN: Final = frozenset({"AccessDenied", "ResourceNotFound"})
_SERVER_ERROR: Final = 500


class ConditionFailed(Exception):
    """A write's condition did not hold; `item` is what is stored, `None` when nothing is."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the condition did not hold")
        self.item = item


class Cancelled(Exception):
    """A transaction was cancelled by conditions; `failed` maps the place of each such write to what is stored."""

    def __init__(self, failed: Mapping[int, Item | None]) -> None:
        super().__init__(f"the conditions of writes {', '.join(map(str, failed))} did not hold")
        self.failed = failed


class Statement(Enum):
    """What became of one statement of a batch."""

    DONE = auto()
    CONDITION_FAILED = auto()
    NO_ANSWER = auto()
    """It was not carried out for now: ask again."""
    REFUSED = auto()
    """It is not carried out like this."""


class Crossed(NoAnswer):
    """A transaction met others at `places`, and at nothing else: this one was not done."""

    def __init__(self, places: Sequence[int], said: str) -> None:
        super().__init__(said)
        self.places = places


def ask(operation: Callable[Request, Answer], *args: Request.args, **request: Request.kwargs) -> Answer:
    """The answer of a client's `operation`.

    Raises `NoAnswer`, `ConditionFailed` or `Cancelled` for what their docstrings say; other errors of the client
    (rights, a missing table, an item too large) go through as they are.
    """
    try:
        return operation(*args, **request)
    except ClientError as error:
        raise _meaning(error) from error
    except (ConnectionError, HTTPClientError, ResponseParserError) as error:
        raise NoAnswer(str(error)) from error


def meaning_of_statement(answer: Mapping[str, Any]) -> Statement:
    """What one answer of a batch says, by the codes that `BatchStatementError` is documented to have.

    `DuplicateItem`, which is for INSERT, and codes that come to be one day are refusals like `ValidationError` and
    `ItemCollectionSizeLimitExceeded`: whoever asks finds out by the same write alone. Raises `ClientError` where the
    installation is broken: rights or the table are missing.
    """
    error: Mapping[str, Any] | None = answer.get("Error")
    if not error:
        return Statement.DONE
    code = error.get("Code", "")
    if code == CONDITION_FAILED:
        return Statement.CONDITION_FAILED
    if code in _BROKEN:
        raise ClientError({"Error": {"Code": code, "Message": error.get("Message", "")}}, "BatchExecuteStatement")
    return Statement.NO_ANSWER if code in _NO_ANSWER_IN_BATCH else Statement.REFUSED


def words_of(answer: Mapping[str, Any]) -> str:
    """What the answer to a statement says about its error, for people."""
    error: Mapping[str, Any] = answer.get("Error") or {}
    return f"{error.get('Code', '')}: {error.get('Message', '')}"


def _meaning(error: ClientError) -> Exception:
    answer: Mapping[str, Any] = error.response
    code = answer.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(answer.get("Item"))
    if code == "TransactionCanceledException":
        return _meaning_of_cancelled(error, answer.get("CancellationReasons", []))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return NoAnswer(str(error)) if code in _NO_ANSWER or status >= _SERVER_ERROR else error


def _meaning_of_cancelled(error: ClientError, reasons: Sequence[Mapping[str, Any]]) -> Exception:
    failed = {
        place: reason.get("Item") or None
        for place, reason in enumerate(reasons)
        if reason.get("Code") == CONDITION_FAILED
    }
    if failed:
        return Cancelled(failed)
    crossed = [place for place, reason in enumerate(reasons) if reason.get("Code") == _CROSSED]
    if crossed and all(reason.get("Code") in (_CROSSED, "None", None) for reason in reasons):
        return Crossed(crossed, str(error))
    silent = any(reason.get("Code") in _NO_ANSWER_IN_TRANSACTION for reason in reasons)
    return NoAnswer(str(error)) if silent else error
