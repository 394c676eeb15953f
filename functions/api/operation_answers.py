"""Answers about operations: backfills, re-runs and redrives."""

from typing import Annotated, Any

from pydantic import Field

from cronfleet.domain.operation import Kind, Status

from .answers import Answered, ReasonAnswer, RunAnswer, Time


class CountsAnswer(Answered):
    """How many of an operation's candidates stand where."""

    pending: Annotated[int | None, Field(description="Not come to yet; null: they were not counted beforehand.")]
    under_way: Annotated[int, Field(description="Runs that were queued, running or waiting when it last looked.")]
    succeeded: Annotated[int, Field(description="Runs that succeeded.")]
    dead: Annotated[int, Field(description="Runs that are out of attempts.")]
    cancelled: Annotated[int, Field(description="Runs that were cancelled, or whose schedule was deleted.")]
    skipped: Annotated[int, Field(description="Runs that were not started, for a reason.")]
    frozen: Annotated[int, Field(description="Runs that a freeze ended.")]
    refused: Annotated[int, Field(description="Runs that could not be run, for a reason.")]
    passed_over: Annotated[int, Field(description="Of which no run was made.")]
    forgotten: Annotated[int, Field(description="Runs whose rows expired before their ends were seen.")]


class OperationAnswer(Answered):
    """A backfill, a re-run of many or a redrive: how far it is."""

    id: Annotated[str, Field(description="Its id; a backfill's is a digest of what was asked.")]
    kind: Annotated[Kind, Field(description="What it does.")]
    status: Annotated[Status, Field(description="Where it stands.")]
    is_over: Annotated[bool, Field(description="Whether nothing will change any more.")]
    asked: Annotated[dict[str, Any], Field(description="What was asked for, and the `schedules` that it came to.")]
    reason: Annotated[str, Field(description="As it was given.")]
    created_by: Annotated[str, Field(description="Who asked.")]
    created_at: Annotated[Time, Field(description="When.")]
    changed_at: Annotated[Time, Field(description="When something of it last changed.")]
    ended_at: Annotated[Time | None, Field(description="When it was over.")]
    max_concurrent: Annotated[int, Field(description="How many of its runs may be under way.")]
    rate_per_minute: Annotated[int | None, Field(description="How many are begun in a minute; null: as they go.")]
    total: Annotated[int | None, Field(description="How many candidates there are; null: they were not counted.")]
    counts: Annotated[CountsAnswer, Field(description="Where they stand.")]
    stopped: Annotated[ReasonAnswer | None, Field(description="Why it stopped by itself, while it is stopped.")]


class OperationsAnswer(Answered):
    """A page of operations, newest first."""

    operations: Annotated[list[OperationAnswer], Field(description="There may be fewer than asked for.")]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class ResultAnswer(Answered):
    """What became of one candidate."""

    schedule_id: Annotated[str, Field(description="Of which schedule.")]
    nominal_at: Annotated[Time, Field(description="The nominal time.")]
    state: Annotated[str, Field(description="The status of its run; or `pending`, or `passed_over`: it has none.")]
    run_id: Annotated[str | None, Field(description="Its run.")]
    ancestor: Annotated[str | None, Field(description="The run that it repeats, of a re-run.")]
    finished_at: Annotated[Time | None, Field(description="When the run came to its end.")]
    reason: Annotated[ReasonAnswer | None, Field(description="Why the run did not simply run, if so.")]


class ResultsAnswer(Answered):
    """A page of results, in the order in which the operation comes to them."""

    results: Annotated[list[ResultAnswer], Field(description="One for each candidate.")]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class DatesAnswer(Answered):
    """A page of a backfill's dates, in its order."""

    dates: Annotated[list[ResultAnswer], Field(description="One for each date.")]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class DateAnswer(Answered):
    """One date of a schedule."""

    schedule_id: Annotated[str, Field(description="The schedule.")]
    nominal_at: Annotated[Time, Field(description="The nominal time.")]


class BackfillPreviewAnswer(Answered):
    """What a backfill would do."""

    dry_run: Annotated[bool, Field(description="True.")]
    id: Annotated[str, Field(description="The id that it would have.")]
    exists: Annotated[bool, Field(description="Whether the same call has made it already.")]
    count: Annotated[int, Field(description="Dates in the stretch.")]
    runs: Annotated[
        int | None, Field(description="How many of them would run, by `mode`; null: too many to look at each.")
    ]
    first: Annotated[list[DateAnswer], Field(description="The first dates in the order asked for.")]
    last: Annotated[list[DateAnswer], Field(description="The last ones.")]
    schedules: Annotated[list[str], Field(description="The schedules that it is about.")]
    write_units: Annotated[int, Field(description="What the runs cost the job store, where each succeeds at once.")]


class RerunPreviewAnswer(Answered):
    """What a re-run would do."""

    dry_run: Annotated[bool, Field(description="True.")]
    count: Annotated[int, Field(description="Runs that the filter takes.")]
    is_complete: Annotated[bool, Field(description="Whether that is all; false: there are at least so many.")]
    examples: Annotated[list[RunAnswer], Field(description="The first of them.")]
    write_units: Annotated[int, Field(description="What the runs cost the job store, where each succeeds at once.")]
