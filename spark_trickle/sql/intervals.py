"""Reading of `INTERVAL 1 DAY 2 HOURS`: one value, as Spark makes one text of its parts and reads that. As a sum it
would be taken apart by what stands before it: `t - INTERVAL 1 DAY 2 HOURS` takes away both.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

_SINGULAR = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND")
_UNITS = frozenset({*_SINGULAR, *(f"{unit}S" for unit in _SINGULAR)})
_SIGNS = {TokenType.PLUS: "", TokenType.DASH: "-"}


class IntervalParser(SparkParser):
    """Spark's parser, to which an interval of several parts is one."""

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> exp.Add | exp.Interval | None:
        index = self._index
        if not self._match(TokenType.INTERVAL) and require_interval:
            return None
        begin = self._index
        parts = list(self._parts())
        if len(parts) > 1:
            text = " ".join(f"{value} {unit}" for value, unit in parts)
            return self.expression(exp.Interval(this=exp.Literal.string(text)))
        if parts:
            number, unit = parts[0]
            return self.expression(exp.Interval(this=exp.Literal.string(number), unit=exp.Var(this=unit.upper())))
        self._retreat(begin)
        value = self._parse_primary() if self._match(TokenType.STRING, advance=False) else self._parse_term()
        if value is None or (not value.is_string and not self._is_unit()):
            self._retreat(index)  # a column that is called interval: only a text may say its units itself
            return None
        return self._parse_interval_span(value, parse_function_unit=parse_function_unit)

    def _parts(self) -> Iterator[tuple[str, str]]:
        """Numbers with their units, as far as they go; a sign belongs to the number behind it."""
        while True:
            begin = self._index
            sign = next((sign for kind, sign in _SIGNS.items() if self._match(kind)), "")
            value = self._curr.text if self._match_set((TokenType.STRING, TokenType.NUMBER), advance=False) else None
            if value is not None:
                self._advance()
            # `INTERVAL '1 2' DAY TO HOUR` is no list of parts.
            if value is None or not self._is_unit() or (self._next is not None and self._next.text.upper() == "TO"):
                self._retreat(begin)
                return
            unit = self._curr.text
            self._advance()
            yield f"{sign}{value}", unit

    def _is_unit(self) -> bool:
        return self._curr is not None and self._curr.text.upper() in _UNITS
