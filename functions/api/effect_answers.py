"""What a dry run tells of a change: the schedule as it would be, and what becomes of its fires."""

from pydantic import Field

from cronfleet.domain.effect import MoveCause

from .answers import Answered, FireAnswer, ScheduleAnswer, Time


class FiresEffectAnswer(Answered):
    """Fires that come or go."""

    count: int = Field(description="How many, up to `until`.")
    examples: list[FireAnswer] = Field(description="The first five.")


class MovedFireAnswer(Answered):
    """A fire that stays the same one at another time."""

    cause: MoveCause = Field(description="What stays: docs/versions.md has the table.")
    before: FireAnswer = Field(description="When it would be without the change.")
    after: FireAnswer = Field(description="When it will be.")


class MovedFiresAnswer(Answered):
    """Fires that are moved."""

    count: int = Field(description="How many, up to `until`.")
    by: dict[MoveCause, int] = Field(description="How many of them by which cause.")
    examples: list[MovedFireAnswer] = Field(description="The first five.")


class RateEffectAnswer(Answered):
    """How many fires of the tenant fall into one second."""

    peak: int = Field(
        description="In the fullest second in which this schedule fires in the next day, itself included."
    )
    peak_at: Time = Field(description="That second. Of each hour the schedule's first fire was looked at.")
    limit: int | None = Field(description="The tenant's quota; what is over it is put off, not dropped.")
    looked_at: int = Field(description="Active schedules of the tenant that were counted.")
    is_complete: bool = Field(description="Whether those are all; else the count ended at 1,000.")


class ScheduleCountEffectAnswer(Answered):
    """How many schedules the tenant has."""

    use: int = Field(description="Now.")
    after: int = Field(description="After the change.")
    limit: int = Field(description="The tenant's quota.")


class QuotaEffectAnswer(Answered):
    """What the change does to the tenant's quotas."""

    schedules: ScheduleCountEffectAnswer = Field(description="Over the limit, the change is refused: so is its trial.")
    fires_per_second: RateEffectAnswer | None = Field(
        description="Null: the change gains and moves no fire, or the schedule is not on."
    )


class EffectAnswer(Answered):
    """What becomes of the fires that are due from now on, compared one by one."""

    from_: Time = Field(alias="from", description="Now.")
    until: Time = Field(description="Up to which nominal time: thirty days, or less if `is_cut`.")
    is_cut: bool = Field(description="Whether `until` is earlier since more than 50,000 fires lie before it.")
    is_off: bool = Field(
        description="The schedule is on neither before nor after: this is what it would fire if it were turned on."
    )
    unchanged: int = Field(description="Fires that stay as they are.")
    gained: FiresEffectAnswer = Field(description="Fires that there would not be without the change.")
    lost: FiresEffectAnswer = Field(description="Fires that there will not be.")
    moved: MovedFiresAnswer = Field(description="Fires that stay the same ones at another time.")
    at_once: int = Field(description="Fires whose time had come or is just coming, and that run at once.")
    caught_up: int = Field(description="Fires of missed time that are then still to be caught up.")
    quota: QuotaEffectAnswer = Field(description="What it does to the tenant's quotas.")


class TriedScheduleAnswer(ScheduleAnswer):
    """A schedule as it would be: nothing was changed."""

    effect: EffectAnswer = Field(description="What the change does to its fires.")
