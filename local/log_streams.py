"""Bounds the functions' logs in the emulator: it opens a stream for each invocation and never drops one."""

import time
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local.aws import Aws

KEPT_SECONDS: Final = 600
TRIM_FOR: Final = 1.0
"""Seconds for all groups together: while it trims, the supervisor looks after nothing else."""
PREFIX: Final = "/aws/lambda/"


def trim(aws: Aws) -> None:
    """Delete log streams that ended more than ten minutes ago. What cannot be deleted now is, next time.

    Each group has its share of the time: a start may find very many streams of the last run.
    """
    oldest_kept = (time.time() - KEPT_SECONDS) * 1000
    try:
        groups = list(aws.all("logs", "describe_log_groups", "logGroups", logGroupNamePrefix=PREFIX))
        for group in groups:
            _trim_group(aws, group["logGroupName"], oldest_kept, time.monotonic() + TRIM_FOR / len(groups))
    except (ClientError, BotoCoreError):
        return


def _trim_group(aws: Aws, group: str, oldest_kept: float, until: float) -> None:
    by_age = {"logGroupName": group, "orderBy": "LastEventTime", "descending": False}
    for stream in aws.all("logs", "describe_log_streams", "logStreams", **by_age):
        if stream.get("lastEventTimestamp", 0) >= oldest_kept or time.monotonic() >= until:
            return
        aws.client("logs").delete_log_stream(logGroupName=group, logStreamName=stream["logStreamName"])
