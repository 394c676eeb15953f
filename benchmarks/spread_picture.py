"""The picture of what spreading does: fires a minute over one day, before and after, as SVG for any page."""

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as Xml

WIDTH: Final = 960
HEIGHT: Final = 540
LEFT: Final = 64
RIGHT: Final = 28
TOP: Final = 40
GAP: Final = 84
BOTTOM: Final = 36
HOURS: Final = 24
LABELLED_HOURS: Final = 3
MINUTES: Final = HOURS * 60
MOST_LINES: Final = 5
"""Of a scale, above the bottom."""

STYLE: Final = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #6e7781 }
.head { font-weight: 600; font-size: 15px; fill: #6e7781 }
.grid { stroke: #8c959f; stroke-opacity: .35 }
.mean { stroke: #6e7781; stroke-dasharray: 6 4 }
path { stroke-width: .9 }
.before { fill: #cf5b2e; stroke: #cf5b2e } .after { fill: #1f7a8c; stroke: #1f7a8c }
@media (prefers-color-scheme: light) { .head { fill: #24292f } }
@media (prefers-color-scheme: dark) {
  text { fill: #a8b3bf } .head { fill: #e6edf3 } .mean { stroke: #a8b3bf }
  .before { fill: #f0854f; stroke: #f0854f } .after { fill: #4fb6c9; stroke: #4fb6c9 }
}
"""


def svg(before: Sequence[int], after: Sequence[int]) -> str:
    """Both days, minute by minute, to one scale: what the fullest of them needs."""
    root = Xml.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"}
    )
    said = f"Fires a minute over a day: at most {max(before):,} before, {max(after):,} spread"
    Xml.SubElement(root, "title").text = said
    Xml.SubElement(root, "style").text = STYLE
    most = max(*before, *after)
    step = _step(most)
    lines = -(-most // step)
    height = (HEIGHT - TOP - GAP - BOTTOM) / 2
    _panel(root, before, "before", "Nothing put off", (TOP, height, step, lines))
    _panel(root, after, "after", 'All with "spread": "auto"', (TOP + height + GAP, height, step, lines))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode") + "\n"


def _step(most: int) -> int:
    """How far apart the lines of a scale are: a round number."""
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            if step * MOST_LINES >= most:
                return step
        power *= 10


def _panel(
    root: Xml.Element, minutes: Sequence[int], name: str, head: str, place: tuple[float, float, int, int]
) -> None:
    y, height, step, lines = place
    top = step * lines
    mean = sum(minutes) / len(minutes)
    said = f"{head}: peak {max(minutes):,} fires a minute, mean {mean:,.1f}, {max(minutes) / mean:.1f} to 1"
    _text(root, LEFT, y - 14, said, "head", "start")
    for number in range(lines + 1):
        at = y + height - height * number / lines
        _line(root, LEFT, at, WIDTH - RIGHT, at, "grid")
        _text(root, LEFT - 8, at + 4, f"{step * number:,}", "", "end")
    for hour in range(0, HOURS + 1, LABELLED_HOURS):
        _text(root, LEFT + (WIDTH - LEFT - RIGHT) * hour / HOURS, y + height + 20, f"{hour:02}:00", "", "middle")
    Xml.SubElement(root, "path", {"class": name, "d": _area(minutes, y, height, top)})
    at = y + height - height * mean / top
    _line(root, LEFT, at, WIDTH - RIGHT, at, "mean")


def _area(minutes: Sequence[int], y: float, height: float, top: int) -> str:
    """A step for each minute."""
    width = (WIDTH - LEFT - RIGHT) / MINUTES
    steps = [f"M{LEFT} {y + height:.1f}"]
    for number, fires in enumerate(minutes):
        steps.append(f"V{y + height - height * fires / top:.1f}H{LEFT + (number + 1) * width:.2f}")
    return "".join([*steps, f"V{y + height:.1f}Z"])


def _text(root: Xml.Element, x: float, y: float, said: str, style: str, anchor: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    Xml.SubElement(root, "text", place | ({"class": style} if style else {})).text = said


def _line(root: Xml.Element, x: float, y: float, to_x: float, to_y: float, style: str) -> None:
    ends = {"x1": f"{x:.1f}", "y1": f"{y:.1f}", "x2": f"{to_x:.1f}", "y2": f"{to_y:.1f}"}
    Xml.SubElement(root, "line", ends | {"class": style})
