"""The graph as a picture: SVG by itself, without script, style sheet or anything that is fetched. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from spark_trickle.graph.layout import Edge, columns_of, rows_of

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _EDGE = 180, 32, 250, 48, 14
_LONGEST, _LONGEST_NOTE = 24, 32
"""Characters of a name that fit into a box, and of the smaller note below it; all of both is its title."""
_FILL = {"STREAM_TABLE": "#ddf4ff", "TABLE": "#f6f8fa", "VIEW": "#fff8c5"}
_LINE = {"STREAM_TABLE": "#0969da", "TABLE": "#6e7781", "VIEW": "#9a6700"}


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    kind: str
    """TABLE, STREAM_TABLE or VIEW."""
    note: str = ""


def drawn(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """Sources to the left of those that read them."""
    names = [box.name for box in boxes]
    columns = columns_of(names, edges, names)
    rows = rows_of(columns, edges)
    x = {node: i * _ACROSS + _EDGE for i, column in enumerate(columns) for node in column}
    y = {node: round(row * _DOWN) + _EDGE for node, row in rows.items()}
    width = max(x.values(), default=0) + _WIDTH + 2 * _EDGE
    height = max(y.values(), default=0) + _HEIGHT + _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>{len(boxes)} tables, and who reads whom</title>",
        '<defs><marker id="trickle-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><polygon points="0,0 8,4 0,8" fill="#8c959f"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    parts += [_line(x[a], y[a], x[b], y[b], to_itself=a == b) for a, b in edges]
    parts += [_box(box, x[i], y[i]) for i, box in enumerate(boxes)]
    return "\n".join([*parts, "</svg>"])


def _box(box: Box, x: int, y: int) -> str:
    corner, up = 4 if box.kind == "STREAM_TABLE" else 14, 6 if box.note else 0
    said = f"{box.name} ({', '.join(filter(None, (box.kind.replace('_', ' ').lower(), box.note)))})"
    note = (
        f'<text x="{x + 10}" y="{y + 27}" font-size="9" fill="#59636e">{_text(_short(box.note, _LONGEST_NOTE))}</text>'
    )
    return (
        f'<g><title>{_text(said)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="{corner}" '
        f'fill="{_FILL.get(box.kind, "#f6f8fa")}" stroke="{_LINE.get(box.kind, "#6e7781")}"/>'
        f'<text x="{x + 10}" y="{y + 20 - up}" fill="#1f2328">{_text(_short(box.name, _LONGEST))}</text>'
        f"{note if box.note else ''}</g>"
    )


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _line(x1: int, y1: int, x2: int, y2: int, *, to_itself: bool) -> str:
    out, into, middle = x1 + _WIDTH, x2, _HEIGHT // 2
    if to_itself:
        path = f"M {out} {y1 + middle} q 24 0 12 {middle} t -12 0"
    elif into > out:
        bend = (into - out) // 2
        path = f"M {out} {y1 + middle} C {out + bend} {y1 + middle} {into - bend} {y2 + middle} {into} {y2 + middle}"
    else:
        # Members of a circle that stand in one column, or a way back.
        back = x2 + _WIDTH
        path = f"M {out} {y1 + middle} C {out + 50} {y1 + middle} {back + 50} {y2 + middle} {back} {y2 + middle}"
    return f'<path d="{path}" fill="none" stroke="#8c959f" marker-end="url(#trickle-arrow)"/>'


def _text(text: str) -> str:
    # XML knows no control characters, however they are written.
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text))
