"""What the errors of AWS services mean to an attempt."""

from collections.abc import Collection

from botocore.exceptions import ClientError

from cronfleet.domain.attempt import Result
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome


def code_of(error: ClientError) -> str:
    """The service's word for it."""
    return str(error.response.get("Error", {}).get("Code", "unknown error"))


def refused(error: ClientError, permanent: Collection[str]) -> Result:
    """The result of a request that a service refused; those in `permanent` judged the request itself."""
    code = code_of(error)
    text = f"{code}: {error.response.get('Error', {}).get('Message', '')}"
    return failed(text, retryable=code not in permanent)


def failed(text: str, *, retryable: bool = True) -> Result:
    """A failure with one short line."""
    return Result(Outcome.FAILED, " ".join(text.split())[:MAX_ERROR_CHARACTERS], retryable)


def is_silence(error: ClientError) -> bool:
    """Whether a service said nothing about the request itself: it is throttled or broken, or may not be asked."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or "Throttl" in code_of(error) or code_of(error) in SILENT


SILENT = frozenset(
    {
        *("RequestLimitExceeded", "TooManyRequestsException", "ServiceUnavailable", "ExpiredToken"),
        *("ExpiredTokenException", "AccessDenied", "AccessDeniedException", "UnrecognizedClientException"),
    }
)
