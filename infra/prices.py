"""List prices of us-east-1 in dollars: the dashboard and the calculator of costs read them here.

Sources, as noted on 29 November 2026; check them before you rely on them:
- DynamoDB on demand: https://aws.amazon.com/dynamodb/pricing/on-demand/
- SQS standard queues, and the surcharge on requests to fair queues: https://aws.amazon.com/sqs/pricing/
- Lambda on arm64: https://aws.amazon.com/lambda/pricing/
- HTTP API: https://aws.amazon.com/api-gateway/pricing/
- provisioned capacity, storage, backups: https://aws.amazon.com/dynamodb/pricing/provisioned/
- CloudWatch: https://aws.amazon.com/cloudwatch/pricing/
- EventBridge Scheduler: https://aws.amazon.com/eventbridge/pricing/
- provisioned pollers: the price list, as others quote it
"""

from typing import Final

MILLION: Final = 1_000_000

WRITE_UNITS: Final = 0.625
"""A million write request units."""
READ_UNITS: Final = 0.125
SQS_REQUESTS: Final = 0.40
FAIR_SURCHARGE: Final = 0.10
"""A million requests to a queue whose messages have groups; AWS does not say which requests, so all are counted."""
INVOCATIONS: Final = 0.20
GATEWAY_REQUESTS: Final = 1.00
GB_SECOND: Final = 0.0000133334
"""One, not a million: arm64."""

WRITE_UNIT_HOUR: Final = 0.00065
"""An hour of one provisioned write unit a second."""
READ_UNIT_HOUR: Final = 0.00013
STORAGE_GB_MONTH: Final = 0.25
BACKUP_GB_MONTH: Final = 0.20
"""Point-in-time recovery, for each GB of the tables, whatever the days."""
LOGS_GB: Final = 0.50
"""Taken in."""
LOGS_GB_MONTH: Final = 0.03
LOGS_COMPRESSED_TO: Final = 0.15
"""What is kept of a GB that came in, as CloudWatch's own examples reckon."""
METRIC_MONTH: Final = 0.30
"""Of the first 10,000: each name with each value of its dimensions."""
ALARM_METRIC_MONTH: Final = 0.10
DASHBOARD_MONTH: Final = 3.00
POLLER_HOUR: Final = 0.00925
EVENTBRIDGE_SCHEDULER: Final = 1.00
"""A million invocations."""
