"""Values as small pieces of HTML, for notebooks: every text is escaped, nothing is fetched, no script.

Knows no value of ours: how each looks is said in `notebook`, which registers it here, so that the pure rooms need not
know that there are notebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")

_LOOKS: dict[type, Callable[[Any], str]] = {}
_MOST_ROWS = 200
_SHORT = 24
_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
COLOURS = {
    "good": "#1a7f37",
    "bad": "#cf222e",
    "warn": "#9a6700",
    "quiet": "#6e7781",
}
"""Read on a light and on a dark ground."""


class Shown:
    """What can be shown in a notebook. Its text there is as short as one line."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        look = _LOOKS.get(type(self))
        return None if look is None else look(self)


class Listing(list[T]):
    """A list that is a table in a notebook, and nothing else anywhere else."""

    def _repr_html_(self) -> str | None:
        look = _LISTS.get(type(self[0])) if self else None
        if look is None:
            return None
        titles, cells = look
        omitted = len(self) - _MOST_ROWS
        more = paragraph(f"and {omitted} more", "quiet") if omitted > 0 else ""
        return table(titles, [cells(each) for each in self[:_MOST_ROWS]]) + more


class Svg(str):
    """A drawing: text as SVG, a picture in a notebook."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


_LISTS: dict[type, tuple[Sequence[str], Callable[[Any], Sequence[object]]]] = {}


def looks(kind: type[T], look: Callable[[T], str]) -> None:
    """Say how values of a type look."""
    _LOOKS[kind] = look


def listed(kind: type[T], titles: Sequence[str], cells: Callable[[T], Sequence[object]]) -> None:
    """Say which cells a row of a list has."""
    _LISTS[kind] = (titles, cells)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def cell(value: object) -> str:
    """A value as HTML: escaped, unless it is markup.

    >>> cell("<img src=x>"), cell(None)
    ('&lt;img src=x&gt;', '')
    """
    if isinstance(value, Markup):
        return value
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(each) for each in value)
    return escape(str(value))


def coloured(value: object, colour: str) -> Markup:
    return Markup(f'<span style="color:{COLOURS[colour]}">{cell(value)}</span>')


def bold(value: object) -> Markup:
    return Markup(f"<b>{cell(value)}</b>")


def code(value: object) -> Markup:
    style = "white-space:pre-wrap;font-family:monospace;margin:4px 0"
    return Markup(f'<pre style="{style}">{cell(value)}</pre>')


def paragraph(value: object, colour: str | None = None) -> Markup:
    return Markup(f'<p style="margin:2px 0">{cell(value) if colour is None else coloured(value, colour)}</p>')


def folded(title: str, content: object) -> Markup:
    return Markup(f"<details><summary>{cell(title)}</summary>{cell(content)}</details>")


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    head = "".join(f'<th style="{_CELL}">{cell(title)}</th>' for title in titles)
    lines = ("".join(f'<td style="{_CELL}{_wrapping(value)}">{cell(value)}</td>' for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return Markup(
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _wrapping(value: object) -> str:
    """Moments and numbers stay in one line."""
    return ";white-space:nowrap" if isinstance(value, str) and len(value) <= _SHORT else ""


def card(title: object, facts: Mapping[str, object], *more: object) -> Markup:
    """A title, and what is known under it; what is empty is left out."""
    rows = [
        f'<tr><th style="{_CELL}">{cell(name)}</th><td style="{_CELL}">{cell(value)}</td></tr>'
        for name, value in facts.items()
        if value is not None and value not in ("", ())
    ]
    body = f'<table style="border-collapse:collapse">{"".join(rows)}</table>' if rows else ""
    return Markup(f"<div>{paragraph(title)}{body}{''.join(cell(each) for each in more)}</div>")
