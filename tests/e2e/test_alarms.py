"""Every alarm of the deployed stack goes off by values of its metric, and CloudWatch says so: `describe-alarms`.

What really sets them off, and that each ends, `python -m local.drill` shows; that takes a quarter of an hour.
"""

import time
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from infra.alarms import alarms
from infra.config.installation import from_context
from local.drill.causes import put_values
from local.drill.stack import Drilled
from local.testing import StackProcess

pytestmark = pytest.mark.e2e

CONFIG = from_context({"local": "true"})
PATIENCE_SECONDS = 60


def test_every_alarm_of_the_deployed_stack_goes_off_by_its_own_metric(stack: StackProcess) -> None:
    drilled = Drilled(stack.state)
    specs = alarms(CONFIG)
    assert set(drilled.states()) == {spec.name for spec in specs}, "all are there, those on expressions too"
    # What takes silence for the worst is told of all the time by what goes on; the drill silences it.
    told = [spec for spec in specs if not spec.silence_is_bad]
    for spec in told:
        put_values(drilled, spec)
    quiet = {spec.name for spec in told}
    until = time.monotonic() + PATIENCE_SECONDS
    while quiet and time.monotonic() < until:
        quiet -= {name for name, state in drilled.states().items() if state == "ALARM"}
        time.sleep(1)
    assert not quiet


def test_the_stacks_address_has_the_metrics_and_the_page(stack: StackProcess) -> None:
    url = stack.facts["url"]
    assert urlsplit(url).hostname == "127.0.0.1"
    with urlopen(f"{url}/metrics") as answer:  # noqa: S310 - on this machine
        families = {one.name: one for one in text_string_to_metric_families(answer.read().decode())}
    assert families["cronfleet_requests"].samples, "the API's too, which no queue's function tells"
    assert families["cronfleet_ticks_laid"].samples[0].value > 0
    with urlopen(f"{url}/dashboard") as answer:  # noqa: S310 - as above
        assert "Cronfleet" in answer.read().decode()
