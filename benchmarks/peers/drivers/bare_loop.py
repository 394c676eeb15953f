"""Driver of the bare loop: SELECT … FOR UPDATE SKIP LOCKED in batches of 100, what a team would write for itself.

The scheduler moves each due schedule on and queues a run of it in the same transaction; the worker takes runs in
batches, calls the handler for each, and marks them as done. How the rows are written is the loop's `Writing`: with a
statement for each row, or with arrays.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import croniter
import psycopg

from benchmarks.peers.drivers import herd
from benchmarks.peers.drivers.herd import Order

BATCH: Final = 100
PAUSE_SECONDS: Final = 0.1

Moved = tuple[str, datetime, datetime]
"""A schedule's name, when it was due, and when it is due next."""
Writing = Callable[[Any, Sequence[Moved]], None]

_TABLES: Final = """
CREATE TABLE schedules (name text PRIMARY KEY, expression text NOT NULL, next_at timestamptz NOT NULL);
CREATE INDEX ON schedules (next_at);
CREATE TABLE runs (
    id bigserial PRIMARY KEY, name text NOT NULL, due_at timestamptz NOT NULL, state text NOT NULL DEFAULT 'queued',
    done_at timestamptz, UNIQUE (name, due_at)
);
CREATE INDEX ON runs (id) WHERE state = 'queued';
"""
_DUE: Final = """
SELECT name, expression, next_at FROM schedules WHERE next_at <= now()
ORDER BY next_at LIMIT %s FOR UPDATE SKIP LOCKED
"""
_QUEUED: Final = "SELECT id, name FROM runs WHERE state = 'queued' ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED"


def set_up(order: Order) -> None:
    """The tables, and the herd in them."""
    with psycopg.connect(order.url) as connection:
        connection.execute(_TABLES)
        rows = [(name, order.expression(number), order.due_at) for number, name in enumerate(order.names)]
        connection.cursor().executemany("INSERT INTO schedules VALUES (%s, %s, %s)", rows)
        connection.execute("ANALYZE schedules")


def row_by_row(cursor: Any, moved: Sequence[Moved]) -> None:
    """Two statements for each schedule, in the driver's pipeline."""
    cursor.executemany("UPDATE schedules SET next_at = %s WHERE name = %s", [(after, name) for name, _, after in moved])
    cursor.executemany("INSERT INTO runs (name, due_at) VALUES (%s, %s)", [(name, due) for name, due, _ in moved])


def in_arrays(cursor: Any, moved: Sequence[Moved]) -> None:
    """Two statements for a batch."""
    names, due, after = zip(*moved, strict=True)
    cursor.execute(
        "UPDATE schedules SET next_at = moved.next_at "
        "FROM unnest(%s::text[], %s::timestamptz[]) AS moved (name, next_at) WHERE schedules.name = moved.name",
        (list(names), list(after)),
    )
    cursor.execute(
        "INSERT INTO runs (name, due_at) SELECT * FROM unnest(%s::text[], %s::timestamptz[])", (list(names), list(due))
    )


def schedule(order: Order, write: Writing) -> None:
    """Queue what is due, for ever."""
    with psycopg.connect(order.url, autocommit=True) as connection:
        cursor = connection.cursor()
        herd.ready()
        while True:
            with connection.transaction():
                due = cursor.execute(_DUE, (BATCH,)).fetchall()
                if due:
                    moved = [(name, at, croniter.croniter(text, at).get_next(datetime)) for name, text, at in due]
                    write(cursor, moved)
            if not due:
                time.sleep(PAUSE_SECONDS)


def work(order: Order) -> None:
    """Run what is queued, for ever."""
    with psycopg.connect(order.url, autocommit=True) as connection:
        cursor = connection.cursor()
        herd.ready()
        while True:
            with connection.transaction():
                queued = cursor.execute(_QUEUED, (BATCH,)).fetchall()
                for _, name in queued:
                    herd.handle(name)
                ids = [one for one, _ in queued]
                if ids:
                    cursor.execute("UPDATE runs SET state = 'done', done_at = now() WHERE id = ANY(%s)", (ids,))
            if not queued:
                time.sleep(PAUSE_SECONDS)


def left(order: Order) -> None:
    """What is due and not queued, or queued and not done."""
    with psycopg.connect(order.url) as connection:
        due = connection.execute("SELECT name FROM schedules WHERE next_at <= %s", (order.due_at,)).fetchall()
        queued = connection.execute("SELECT name FROM runs WHERE state = 'queued'").fetchall()
    herd.say_open([name for (name,) in [*due, *queued]])


def main(write: Writing) -> None:
    """Play one role of this loop."""
    herd.play({"setup": set_up, "scheduler": lambda order: schedule(order, write), "worker": work, "left": left})


if __name__ == "__main__":
    main(row_by_row)
