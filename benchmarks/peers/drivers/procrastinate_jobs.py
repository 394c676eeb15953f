"""Driver of procrastinate: its worker also defers the periodic tasks, so scheduler and worker are one process."""

import asyncio
from typing import Any, Final

import procrastinate
import psycopg

from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.herd import Order

CONCURRENCY: Final = 10


async def _handle(timestamp: int, name: str) -> None:  # noqa: ARG001 - procrastinate says for which time it calls
    herd.handle(name)


def _app(order: Order) -> Any:
    return procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=order.url))


def set_up(order: Order) -> None:
    """The schema. Periodic tasks are not stored: they are registered in each worker's memory."""

    async def apply() -> None:
        async with _app(order).open_async() as app:
            await app.schema_manager.apply_schema_async()

    asyncio.run(apply())


def schedule(order: Order) -> None:
    """Defer and run, for ever."""
    app = _app(order)
    task = app.task(name="handle")(_handle)
    for number, name in enumerate(order.names):
        app.periodic(cron=order.expression(number), periodic_id=name, task_kwargs={"name": name})(task)

    async def work() -> None:
        async with app.open_async():
            herd.ready()
            await app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)

    asyncio.run(work())


def left(order: Order) -> None:
    """Jobs that wait, or that a worker has and has not ended."""
    with psycopg.connect(order.url) as connection:
        found = connection.execute("SELECT args->>'name' FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")
        herd.say_open([str(name) for (name,) in found.fetchall()])


if __name__ == "__main__":
    herd.play({"setup": set_up, "scheduler": schedule, "left": left})
