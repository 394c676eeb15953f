"""Metrics in the embedded format arrive as CloudWatch would have taken them."""

from local.metrics import Forwarder, data_in

RECORD = {
    "_aws": {
        "Timestamp": 1_795_980_731_000,
        "CloudWatchMetrics": [
            {
                "Namespace": "Cronfleet",
                "Dimensions": [["service"], ["service", "tier"]],
                "Metrics": [{"Name": "lag", "Unit": "Seconds"}, {"Name": "absent", "Unit": "Count"}],
            }
        ],
    },
    "service": "worker",
    "tier": "standard",
    "lag": [0.5, 1.5],
}


class _Aws:
    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []

    def client(self, service: str) -> "_Aws":
        assert service == "cloudwatch"
        return self

    def put_metric_data(self, *, Namespace, MetricData):  # noqa: N803 - the names of the AWS API
        self.sent.append((Namespace, len(MetricData)))


def test_each_metric_comes_once_per_set_of_dimensions_with_its_values_and_time():
    found = list(data_in(RECORD))
    assert [namespace for namespace, _ in found] == ["Cronfleet", "Cronfleet"]
    assert found[1][1] == {
        "MetricName": "lag",
        "Unit": "Seconds",
        "Values": [0.5, 1.5],
        "Timestamp": 1_795_980_731.0,
        "Dimensions": [{"Name": "service", "Value": "worker"}, {"Name": "tier", "Value": "standard"}],
    }


def test_an_ordinary_log_line_has_no_metrics():
    assert list(data_in({"message": "hello", "_aws": "no"})) == []


def test_what_was_collected_is_sent_once():
    aws = _Aws()
    forwarder = Forwarder(aws)
    forwarder.take(RECORD)
    forwarder.take(RECORD)
    forwarder.flush()
    forwarder.flush()
    assert aws.sent == [("Cronfleet", 4)]


def test_what_somebody_has_put_there_is_not_put_there_again():
    aws = _Aws()
    forwarder = Forwarder(aws)
    forwarder.take({**RECORD, "_aws": {**RECORD["_aws"], "Put": True}})
    forwarder.flush()
    assert aws.sent == []
