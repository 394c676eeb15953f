"""`python -m benchmarks.lint`: what words and warnings cost, in CPU milliseconds for one trigger.

Once with nothing cached (neither the expression nor the zone's data nor the list of zone names), and once as the API
looks a list over, where zones come again. The budget is 5 ms.
"""

import statistics
import time
from typing import Final

from benchmarks.caches import forget
from benchmarks.figures import Figure, report
from cronfleet.domain.lint import look_over
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import CronTrigger

BUDGET_MILLISECONDS: Final = 5
ROUNDS: Final = 20
AFTER: Final = parse_moment("2026-11-29T12:00:00Z", "after").instant("after")
TRIGGERS: Final = tuple(
    CronTrigger(expression, zone)
    for expression, zone in (
        ("*/5 * * * *", "UTC"),
        ("30 2 * * *", "America/New_York"),
        ("*/15 2 * * *", "Europe/Paris"),
        ("0 9 * * 1-5", "Asia/Calcutta"),
        ("0 0 13 * 5", "Africa/Casablanca"),
        ("0 0 31 * *", "Australia/Lord_Howe"),
        ("0 0 29 2 *", "Europe/Berlin"),
        ("0 6 * * 1#5", "America/Sao_Paulo"),
        ("0 0 */2 * 1", "Europe/London"),
        ("*/7 9-17 L-3,15W * *", "Asia/Kolkata"),
    )
)


def _cold() -> list[float]:
    found = []
    for trigger in TRIGGERS:
        forget()
        found.append(_once(trigger))
    return found


def _once(trigger: CronTrigger) -> float:
    begin = time.process_time()
    look_over(trigger, AFTER)
    return (time.process_time() - begin) * 1_000


def main() -> None:
    """Prints both figures."""
    _cold()  # imports what is imported late, which is not what is measured
    cold = [one for _ in range(ROUNDS) for one in _cold()]
    warm = [_once(trigger) for _ in range(ROUNDS) for trigger in TRIGGERS]
    report(*(_figure(*one) for one in (("nothing cached", cold), ("zones and expressions known", warm))))


def _figure(name: str, found: list[float]) -> Figure:
    median = statistics.median(found)
    return Figure(
        "Fires",
        f"words and warnings of a trigger, {name}",
        f"{median:.2f} ms of CPU, at worst {max(found):.2f}",
        budget=f"≤ {BUDGET_MILLISECONDS} ms",
        kept=median <= BUDGET_MILLISECONDS,
    )


if __name__ == "__main__":
    main()
