"""The stack that a drill is held on: its API as a caller has it, and the emulator's AWS API to do harm with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local import surroundings
from local.aws import Aws
from local.demo import Api

PREFIX = "cronfleet"


class Drilled:
    """A running stack, found by the folder it keeps its state in."""

    def __init__(self, state: Path) -> None:
        facts = json.loads((state / "stack.json").read_text())
        self.aws = Aws(facts["emulator"])
        self.api = Api(int(facts["url"].rpartition(":")[2]), surroundings.HOST, facts["key"])

    def states(self) -> dict[str, str]:
        """How each alarm stands, by its name without the prefix, as CloudWatch answers."""
        found = self.aws.all("cloudwatch", "describe_alarms", "MetricAlarms", AlarmNamePrefix=f"{PREFIX}-")
        return {one["AlarmName"].removeprefix(f"{PREFIX}-"): one["StateValue"] for one in found}

    def send(self, queue: str, body: str) -> None:
        """Put a message into a queue."""
        sqs = self.aws.client("sqs")
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{PREFIX}-{queue}")["QueueUrl"], MessageBody=body)

    def invoke(self, function: str, event: Mapping[str, Any], times: int = 1) -> None:
        """Call a function's newest code, which no alias need point to."""
        for _ in range(times):
            client = self.aws.client("lambda")
            client.invoke(FunctionName=f"{PREFIX}-{function}", Payload=json.dumps(event).encode())["Payload"].read()

    def set_environment(self, function: str, variables: Mapping[str, str]) -> dict[str, str]:
        """Give a function's newest code other settings, and answer those that it had."""
        client, name = self.aws.client("lambda"), f"{PREFIX}-{function}"
        before = client.get_function_configuration(FunctionName=name).get("Environment", {}).get("Variables", {})
        client.update_function_configuration(FunctionName=name, Environment={"Variables": dict(variables)})
        return dict(before)

    def set_polling(self, queue: str, *, enabled: bool) -> None:
        """Let the functions behind a queue read it, or not."""
        for mapping in list(self.aws.all("lambda", "list_event_source_mappings", "EventSourceMappings")):
            if mapping["EventSourceArn"].endswith(f":{PREFIX}-{queue}"):
                self.aws.client("lambda").update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    def set_schedule(self, name: str, *, enabled: bool) -> None:
        """Let EventBridge Scheduler call a part each minute, or not."""
        client = self.aws.client("scheduler")
        there = client.get_schedule(Name=f"{PREFIX}-{name}")
        kept = {key: there[key] for key in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")}
        client.update_schedule(**kept, State="ENABLED" if enabled else "DISABLED")

    def items_of(self, schedule_id: str) -> list[dict[str, Any]]:
        """What the store holds of a schedule."""
        rows = self.aws.all("dynamodb", "scan", "Items", TableName=f"{PREFIX}-schedules")
        return [
            row for row in rows if row.get("schedule_id", {}).get("S") == schedule_id or schedule_id in str(row["pk"])
        ]
