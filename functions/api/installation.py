"""What this installation lets schedules ask for: it depends on how it was set up, not on who asks."""

from dataclasses import dataclass

from cronfleet.settings import Settings


@dataclass(frozen=True, slots=True)
class Installation:
    """What was chosen when it was deployed."""

    allowed_networks: tuple[str, ...] = ()
    """Private networks that webhooks may reach."""
    has_long_workers: bool = False
    """Whether attempts may take hours."""


def installation_of(settings: Settings) -> Installation:
    """The installation as its settings describe it."""
    return Installation(settings.webhook_allowed_networks, settings.has_long_workers)
