"""Generated parts of a document: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from collections.abc import Iterable, Mapping


def table(rows: Iterable[Iterable[str]]) -> str:
    """Rows, the first of them headings, as a table of Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    columns = lines[0].count(" | ") + 1
    return "\n".join([lines[0], f"|{' --- |' * columns}", *lines[1:]])


def replaced(document: str, parts: Mapping[str, str], name: str) -> str:
    """`document`, which is called `name`, with new `parts`, by the names of their markers."""
    for part, content in parts.items():
        begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
        before, _, rest = document.partition(begin)
        _, _, after = rest.partition(end)
        if not after:
            raise ValueError(f"{name} lacks the markers {begin} and {end}")
        document = f"{before}{begin}\n{content}\n{end}{after}"
    return document
