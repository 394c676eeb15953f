"""Prints how many statements clients of the Postgres at the order's address have made, BEGIN and COMMIT included."""

import sys
from typing import Any

import psycopg


def calls(url: str) -> int:
    """Statements that the server has counted so far; makes it begin to count."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        found: Any = connection.execute("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements").fetchone()
        return int(found[0])


if __name__ == "__main__":
    sys.stdout.write(f"{calls(sys.argv[1])}\n")
