"""Traces as pages: the latest ones, and one as a tree with bars. No script; each span opens to its attributes."""

import html
import json
from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from local.traces.store import Seen, Store
from local.traces.tree import NANOSECONDS, Row, extent, lasted, moment, rows, text, title

STYLE: Final = Path(__file__).with_name("style.css")
LISTED: Final = 200
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"

Content = tuple[HTTPStatus, str, bytes]


def content(store: Store, target: str) -> Content:
    """The answer to a request for `/traces…`."""
    asked = urlsplit(target)
    wanted = unquote(asked.path.removeprefix("/traces").strip("/"))
    if wanted == "style.css":
        return HTTPStatus.OK, "text/css; charset=utf-8", STYLE.read_bytes()
    query = parse_qs(asked.query)
    wanted = wanted or query.get("of", [""])[0].strip()
    if not wanted:
        return HTTPStatus.OK, HTML, _list(store.latest(LISTED)).encode()
    spans = store.find(wanted)
    form = query.get("format", [""])[0]
    if not spans:
        missing = f"No span of {wanted} has come. Spans come when an attempt has ended; write a trace id or a run id.\n"
        if form:
            return HTTPStatus.NOT_FOUND, TEXT, missing.encode()
        return HTTPStatus.NOT_FOUND, HTML, _page("No such trace", f"<p>{html.escape(missing)}</p>").encode()
    if form == "text":
        return HTTPStatus.OK, TEXT, text(spans).encode()
    if form == "json":
        return HTTPStatus.OK, "application/json", json.dumps([asdict(span) for span in spans]).encode()
    return HTTPStatus.OK, HTML, _trace(spans).encode()


def _page(name: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(name)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="/traces/style.css">'
        '<header><h1><a href="/traces">Traces</a></h1><a href="/dashboard">Dashboard</a>'
        '<form action="/traces"><label>Trace or run <input name="of" size="50" spellcheck="false"></label>'
        f"<button>Show</button></form></header><main>{body}</main></html>"
    )


def _list(traces: Sequence[Sequence[Seen]]) -> str:
    if not traces:
        return _page("Traces", "<p>No span has come yet: they come when an attempt has ended.</p>")
    lines = "".join(map(_entry, traces))
    head = "<tr><th>Began (UTC)<th>What<th>Spans<th>Took<th>Trace"
    return _page("Traces", f'<table class="list"><thead>{head}<tbody>{lines}</table>')


def _entry(spans: Sequence[Seen]) -> str:
    began, ended = extent(spans)
    wrong = ' class="wrong"' if any(span.is_error for span in spans) else ""
    trace_id = html.escape(spans[0].trace_id)
    return (
        f"<tr{wrong}><td>{moment(began)}<td>{html.escape(title(spans))}<td>{len(spans)}"
        f'<td>{lasted((ended - began) / NANOSECONDS)}<td><a href="/traces/{trace_id}">{trace_id}</a>'
    )


def _trace(spans: Sequence[Seen]) -> str:
    began, ended = extent(spans)
    whole = (ended - began) / NANOSECONDS
    facts = f"{moment(began)} · {lasted(whole)} in all · {len(spans)} spans · {html.escape(spans[0].trace_id)}"
    scale = "".join(f"<span>{lasted(whole * part / 4)}</span>" for part in range(5))
    linked = "".join(f'<p>Came of <a href="/traces/{one}">{one}</a></p>' for one in sorted(_links(spans)))
    body = f'<h2>{html.escape(title(spans))}</h2><p class="facts">{facts}</p>{linked}'
    body += f'<div class="scale"><b></b><b></b><div>{scale}</div><b></b></div>'
    return _page(title(spans), body + "".join(map(_row, rows(spans))))


def _links(spans: Sequence[Seen]) -> set[str]:
    return {html.escape(link) for span in spans for link in span.links}


def _row(row: Row) -> str:
    span = row.span
    part = span.service.removeprefix("cronfleet-")
    known = part if part in {"api", "dispatcher", "worker", "clerk", "job"} else "other"
    indent = f'<i class="d{min(row.depth, 8)}"></i>'
    bar = (
        f'<svg role="img" aria-label="{lasted(row.seconds)}"><rect class="{known}" x="{row.left * 100:.3f}%" y="4" '
        f'width="{row.width * 100:.3f}%" height="12" rx="2"/></svg>'
    )
    wrong = " wrong" if span.is_error else ""
    said = f'<p class="error">{html.escape(span.error or "error")}</p>' if span.is_error else ""
    facts = "".join(
        f"<dt>{html.escape(str(name))}<dd>{html.escape(str(value))}" for name, value in sorted(_facts(span).items())
    )
    return (
        f'<details class="row{wrong}"><summary><span class="name">{indent}{html.escape(span.name)}</span>'
        f'<span class="part">{html.escape(part)}</span>{bar}<span class="took">{lasted(row.seconds)}</span></summary>'
        f"{said}<dl>{facts}</dl></details>"
    )


def _facts(span: Seen) -> dict[str, object]:
    own: dict[str, object] = {"began": moment(span.began), "ended": moment(span.ended), "span": span.span_id}
    return own | dict(span.attributes)
