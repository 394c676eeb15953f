"""What one run of the simulator tells, as text."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from simulator.simulation import Report


def lines(report: Report, verbose: bool = True) -> Iterator[str]:
    """The report of one seed; the violation comes last, where the eye falls."""
    if verbose:
        yield f"seed {report.seed}   history {report.digest}   calm after {report.calm_minutes} min"
        yield f"  faults    {_counted(report.faults) or 'none'}"
        yield f"  fires     {report.fires} claimed"
        yield f"  runs      {_counted(report.rows)}"
        yield f"  reasons   {_counted(report.reasons) or 'none'}"
        yield f"  requests  {_counted(report.requests)}"
        yield f"  functions {_counted(report.invocations)}"
        yield f"  dead      {_counted(report.dead_letters) or 'no letter'}"
        yield f"  lag       {_percentiles(report.lags)}"
    if report.violation is not None:
        found = report.violation
        yield f"seed {report.seed}: BROKEN: {found.promise}, first at {_moment(found.at)}"
        yield f"  {found.detail}"
        yield f"  faults of this seed: {', '.join(report.kinds) or 'none'}"


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counter.items()))


def _percentiles(lags: list[int]) -> str:
    if not lags:
        return "no run started"
    points = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    told = [f"{name} {lags[min(len(lags) - 1, int(len(lags) * share))] / 1000:.1f} s" for name, share in points.items()]
    return ", ".join([*told, f"max {lags[-1] / 1000:.1f} s"])


def _moment(at: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
