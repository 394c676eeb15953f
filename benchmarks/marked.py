"""Generated parts of a document: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from collections.abc import Iterable, Mapping


def table(rows: Iterable[Iterable[str]]) -> str:
    """Rows, the first of them headings, as a table of Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    columns = lines[0].count(" | ") + 1
    return "\n".join([lines[0], f"|{' --- |' * columns}", *lines[1:]])


def part_of(document: str, part: str, name: str) -> str:
    """What stands between the markers of `part` in `document`, which is called `name`."""
    begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
    _, _, rest = document.partition(begin)
    content, found, _ = rest.partition(end)
    if not found:
        raise ValueError(f"{name} lacks the markers {begin} and {end}")
    return content.strip("\n")


def replaced(document: str, parts: Mapping[str, str], name: str) -> str:
    """`document`, which is called `name`, with new `parts`, by the names of their markers."""
    for part, content in parts.items():
        begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
        part_of(document, part, name)
        before, _, rest = document.partition(begin)
        after = rest.partition(end)[2]
        document = f"{before}{begin}\n{content}\n{end}{after}"
    return document
