"""What Cronfleet's driver and whoever watches it both name: its queues, and how much was sent to them."""

import functools
from pathlib import Path
from typing import Any, Final

import boto3

from benchmarks.peers.drivers.herd import Order
from local import surroundings

PREFIX: Final = "peers"
REQUESTS: Final = "requests-"
"""How the files beside the record begin, one of each process, that hold how many requests it has made."""
COUNTED: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
    "ApproximateNumberOfMessagesNotVisible",
)


def requests(order: Order, role: str = "") -> int:
    """Requests that the processes of a role have made, or those of all."""
    files = Path(order.record).parent.glob(f"{REQUESTS}{role}*")
    return sum(int(file.read_text()) for file in files)


@functools.cache
def client(service: str, order: Order) -> Any:
    """A client of the emulator."""
    make: Any = boto3.client  # Its hundreds of overloads know no name that comes in a variable.
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": surroundings.REGION}
    return make(service, endpoint_url=order.url, **keys)


def queue(order: Order, name: str) -> str:
    """The URL of a queue."""
    return f"{order.url}/000000000000/{PREFIX}-{name}"


def sent(order: Order) -> int:
    """Messages that stand on the herd's queue, also those that are not yet to be received."""
    answer = client("sqs", order).get_queue_attributes(
        QueueUrl=queue(order, "runs-standard"), AttributeNames=list(COUNTED)
    )
    return sum(int(one) for one in answer["Attributes"].values())
