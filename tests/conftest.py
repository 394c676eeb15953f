"""What every test shares."""

import os

from hypothesis import settings

# Zones come from the pinned package, never from the host (docs/decisions/0001-cron-and-zones.md).
os.environ["PYTHONTZPATH"] = ""

# A slow machine is no bug: speed is measured in benchmarks/, never asserted in tests.
settings.register_profile("cronfleet", deadline=None)
settings.load_profile("cronfleet")
