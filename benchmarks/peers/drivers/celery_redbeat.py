"""Driver of Celery: beat with redbeat's scheduler is the scheduler, a worker of two processes the worker."""

import base64
import json
from collections.abc import Iterator
from typing import Any, Final

from celery import Celery
from celery.apps.beat import Beat
from celery.schedules import crontab
from celery.signals import worker_ready
from redbeat import RedBeatSchedulerEntry
from redis import Redis

from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.herd import Order

LOCK_SECONDS: Final = 15
LOOP_SECONDS: Final = 3
PROCESSES: Final = 2
TASK: Final = "herd.handle"


def _app(order: Order) -> Any:
    app = Celery("herd", broker=order.url)
    app.conf.update(
        timezone="UTC",
        task_ignore_result=True,
        broker_connection_retry_on_startup=True,
        redbeat_redis_url=order.url,
        redbeat_lock_timeout=LOCK_SECONDS,
        beat_max_loop_interval=LOOP_SECONDS,
    )
    app.task(herd.handle, name=TASK)
    return app


def set_up(order: Order) -> None:
    """The herd as redbeat's entries; without a last run, each would be due at once."""
    app = _app(order)
    for number, name in enumerate(order.names):
        when = crontab(minute=str(order.due_at.minute), hour=order.hours(number), app=app)
        RedBeatSchedulerEntry(name, TASK, when, args=[name], app=app, last_run_at=app.now()).save()


def schedule(order: Order) -> None:
    """Send what is due, for ever."""
    app = _app(order)
    herd.ready()
    Beat(app=app, scheduler_cls="redbeat.RedBeatScheduler", max_interval=LOOP_SECONDS, loglevel="WARNING").run()


def work(order: Order) -> None:
    """Run what was sent, for ever."""
    worker_ready.connect(lambda **_: herd.ready(), weak=False)
    _app(order).worker_main(["worker", "--loglevel", "ERROR", "--concurrency", str(PROCESSES)])


def left(order: Order) -> None:
    """Entries that are due, and messages that nobody has acknowledged."""
    redis = Redis.from_url(order.url)
    due: Any = redis.zrangebyscore("redbeat::schedule", 0, order.due)
    herd.say_open([*(key.decode().removeprefix("redbeat:") for key in due), *_messages(redis)])


def _messages(redis: Any) -> Iterator[str]:
    waiting = redis.lrange("celery", 0, -1)
    taken = [json.dumps(json.loads(one)[0]) for one in redis.hvals("unacked")]
    for message in (*waiting, *taken):
        arguments, *_ = json.loads(base64.b64decode(json.loads(message)["body"]))
        yield str(arguments[0])


if __name__ == "__main__":
    herd.play({"setup": set_up, "scheduler": schedule, "worker": work, "left": left})
