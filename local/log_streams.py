"""Bounds the functions' logs in the emulator: it opens a stream for each invocation and never drops one."""

import time
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local.aws import Aws

KEPT_SECONDS: Final = 600
MOST_AT_A_TIME: Final = 2_000
PREFIX: Final = "/aws/lambda/"


def trim(aws: Aws) -> None:
    """Delete log streams that ended more than ten minutes ago. What cannot be deleted now is, next time."""
    oldest_kept = (time.time() - KEPT_SECONDS) * 1000
    try:
        for group in aws.all("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=PREFIX):
            _trim_group(aws, group["logGroupName"], oldest_kept)
    except (ClientError, BotoCoreError):
        return


def _trim_group(aws: Aws, group: str, oldest_kept: float) -> None:
    by_age = {"logGroupName": group, "orderBy": "LastEventTime", "descending": False}
    old: list[str] = []
    for stream in aws.all("logs", "describe_log_streams", "logStreams", **by_age):
        if stream.get("lastEventTimestamp", 0) >= oldest_kept or len(old) >= MOST_AT_A_TIME:
            break
        old.append(stream["logStreamName"])
    for name in old:
        aws.client("logs").delete_log_stream(logGroupName=group, logStreamName=name)
