"""Driver of APScheduler 3 with its SQLAlchemy store: one process that schedules, and runs jobs on its threads."""

import logging
from datetime import UTC
from typing import Any, Final

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger
from sqlalchemy import create_engine, text

from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.herd import Order

THREADS: Final = 10
HANDLER: Final = "benchmarks.peers.drivers.herd:handle"


def _address(order: Order) -> str:
    return order.url.replace("postgresql://", "postgresql+psycopg://")


def _knobs(order: Order) -> dict[str, Any]:
    return {
        "jobstores": {"default": SQLAlchemyJobStore(url=_address(order))},
        "executors": {"default": ThreadPoolExecutor(THREADS)},
        "job_defaults": {"misfire_grace_time": None, "coalesce": True},
        "timezone": UTC,
    }


def set_up(order: Order) -> None:
    """The herd, added to a scheduler that is paused."""
    scheduler = BackgroundScheduler(**_knobs(order))
    scheduler.start(paused=True)
    for number, name in enumerate(order.names):
        trigger = CronTrigger.from_crontab(order.expression(number), timezone=UTC)
        scheduler.add_job(HANDLER, trigger, args=[name], id=name)
    scheduler.shutdown()


def schedule(order: Order) -> None:
    """Schedule and run, for ever."""
    logging.basicConfig(level=logging.ERROR)
    scheduler = BlockingScheduler(**_knobs(order))
    herd.ready()
    scheduler.start()


def left(order: Order) -> None:
    """Jobs whose time in the store is the herd's."""
    with create_engine(_address(order)).begin() as connection:
        found = connection.execute(text(f"SELECT id FROM apscheduler_jobs WHERE next_run_time <= {order.due}"))  # noqa: S608 - a number
        herd.say_open([str(name) for (name,) in found])


if __name__ == "__main__":
    herd.play({"setup": set_up, "scheduler": schedule, "left": left})
