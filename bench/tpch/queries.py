"""The 22 queries, in their standard text with the validation parameters. One file each, `q01.sql` to `q22.sql`."""

from __future__ import annotations

from pathlib import Path

NUMBERS = tuple(range(1, 23))
_FRACTION = "0.0001000000"


def stream_table(number: int) -> str:
    """What the stream table of a query is called."""
    return f"q{number:02}"


def text(number: int, scale: float = 1) -> str:
    """A query's text. Q11 asks for a fraction of the total that depends on the scale."""
    sql = (Path(__file__).parent / f"q{number:02}.sql").read_text(encoding="utf-8").strip()
    return sql.replace(_FRACTION, f"{0.0001 / scale:.10f}") if number == 11 else sql
