"""Shadow answers: heartbeat URLs, their pings, and a held schedule compared with the old system's job."""

from pydantic import Field

from cronfleet.domain.heartbeat import PingState
from cronfleet.domain.shadow_comparison import State, Verdict

from .answers import Answered, Time


class PingAnswer(Answered):
    """A ping, as it was heard."""

    at: Time = Field(description="When it was heard, by the clock of the API.")
    state: PingState = Field(description="What it said of the job.")
    exit_code: int | None = Field(description="As it was sent.")
    message: str = Field(description="As it was sent.")


class HeartbeatAnswer(Answered):
    """A schedule's heartbeat URL, without its token."""

    schedule_id: str = Field(description="The schedule that it belongs to.")
    made_by: str = Field(description="The id of the API key that made the URL.")
    made_at: Time = Field(description="When it was made; the one before is dead since.")
    since: Time = Field(description="Since when the schedule has one.")
    last_ping: PingAnswer | None = Field(description="Null: none has come yet.")


class NewHeartbeatAnswer(Answered):
    """A new heartbeat URL. Its token is shown here, and nowhere again."""

    schedule_id: str = Field(description="The schedule that it belongs to.")
    made_by: str = Field(description="The id of the API key that made it.")
    made_at: Time = Field(description="Now.")
    since: Time = Field(description="Since when the schedule has one.")
    token: str = Field(description="A secret: whoever has it can ping.")
    path: str = Field(description="Where to ping: POST, without a key.")
    url: str = Field(description="The same with the address that this request came to.")


class VerdictAnswer(Answered):
    """What a comparison comes to."""

    code: Verdict = Field(description="`safe`: every fire was seen, and nothing else.")
    text: str = Field(description="A sentence for people.", examples=["24 of 24 fires seen; safe to turn on"])


class SummaryAnswer(Answered):
    """A comparison in numbers."""

    fires: int = Field(description="Those that were seen, and those that are missing.")
    seen: int = Field(description="With a ping within the tolerance.")
    failed: int = Field(description="Of those seen: whose job said that it failed.")
    missing: int = Field(description="Without a ping, and the tolerance is over.")
    pending: int = Field(description="Without a ping yet; not in `fires`.")
    unexpected: int = Field(description="Runs elsewhere that no fire explains.")
    median_lag_seconds: float | None = Field(description="Of those seen; null: none was.")
    largest_lag_seconds: float | None = Field(description="The one furthest from zero; negative: early.")


class ComparedAnswer(Answered):
    """A fire, a run elsewhere, or both."""

    state: State = Field(description="What became of it; docs/shadow.md is the table.")
    text: str = Field(description="A sentence for people.")
    nominal_at: Time | None = Field(description="The fire; null for what is unexpected.")
    ping_at: Time | None = Field(description="When the run was first heard of.")
    ended_at: Time | None = Field(description="When it said how it ended.")
    lag_seconds: float | None = Field(description="ping_at minus nominal_at.")
    exit_code: int | None = Field(description="As the ping said.")
    message: str = Field(description="As the ping said.")


class ShadowComparisonAnswer(Answered):
    """What a held schedule would have fired, beside the pings of the old system's job."""

    schedule_id: str = Field(description="The schedule that was asked about.")
    from_: Time = Field(alias="from", description="From when on was compared.")
    to: Time = Field(description="Up to when; now at the latest.")
    tolerance_seconds: int = Field(description="How far a ping and its fire may lie apart.")
    verdict: VerdictAnswer = Field(description="What it comes to.")
    summary: SummaryAnswer = Field(description="In numbers.")
    entries: list[ComparedAnswer] = Field(description="Oldest first; of the state asked for.")
    left_out: int = Field(description="Entries beyond `limit`.")
