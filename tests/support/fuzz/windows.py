"""Random window functions. Rows are ordered by all their columns, so ties are equal rows.

Equal rows may still get different values (ROW_NUMBER, LAG, a frame of ROWS): as a multiset that is one answer. Two such
values side by side are not: which go together is open. So at most one function of a query tells equal rows apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.support.fuzz.expressions import Expressions, Reach, Term
from tests.support.fuzz.schema import COMPARABLE, NUMBERS, Kind

_POSITIONAL, _EQUAL = (0, 2, 3, 5), (1, 4, 6)
"""Functions that may tell equal rows apart, and those that never do; see `_window`."""


@dataclass
class Windows(Expressions):
    """Writes window functions."""

    def windows(self, reach: Reach) -> tuple[Term, ...]:
        """One or two of them, the first one of any kind."""
        columns = tuple(term for term in reach.terms if term.kind in COMPARABLE)
        if not columns or len(columns) < len(reach.terms):
            return ()
        reach = replace(reach, terms=columns, subqueries=False)
        first = self._window(reach, self.random.choice((*_POSITIONAL, *_EQUAL)))
        more = self.random.random() < 0.5
        return (first, self._window(reach, self.random.choice(_EQUAL))) if more else (first,)

    def ordered(self, text: str) -> str:
        return f"{text} {self.random.choice(('ASC', 'DESC'))} NULLS {self.random.choice(('FIRST', 'LAST'))}"

    def _window(self, reach: Reach, which: int) -> Term:
        random, terms = self.random, reach.terms
        parts = random.sample(terms, min(len(terms), random.choices((0, 1, 2), weights=(2, 5, 1))[0]))
        partition = f"PARTITION BY {', '.join(term.text for term in parts)} " if parts else ""
        shuffled = random.sample(terms, len(terms))
        total = ", ".join(self.ordered(term.text) for term in shuffled)
        some = ", ".join(self.ordered(term.text) for term in shuffled[: random.randint(1, 2)])
        kind = random.choice(terms).kind
        value = self.leaf(kind, reach)
        match which:
            case 0:
                name = random.choice(("ROW_NUMBER()", "NTILE(2)", "NTILE(3)"))
                return Term(f"{name} OVER ({partition}ORDER BY {total})", Kind.INT, outer=False)
            case 1:
                name = random.choice(("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"))
                ratio = name in ("PERCENT_RANK()", "CUME_DIST()")
                return Term(f"{name} OVER ({partition}ORDER BY {some})", Kind.RATIO if ratio else Kind.INT, outer=False)
            case 2:
                name, more = random.choice(("LAG", "LEAD")), random.choice(("", ", 1", ", 2"))
                text = f"{name}({value}{more}){self._nulls()} OVER ({partition}ORDER BY {total})"
                return Term(text, kind, outer=False)
            case 3:
                name = random.choice(("FIRST_VALUE({})", "LAST_VALUE({})", "NTH_VALUE({}, 2)")).format(value)
                text = f"{name}{self._nulls()} OVER ({partition}ORDER BY {total}{self._frame()})"
                return Term(text, kind, outer=False)
            case 4:
                text = random.choice(("COUNT(*)", f"COUNT({value})"))
                return Term(f"{text} OVER ({partition.strip()})", Kind.INT, outer=False)
            case 5:
                text, kind = self._sum(reach)
                return Term(f"{text} OVER ({partition}ORDER BY {total}{self._frame()})", kind, outer=False)
            case _:
                return self._ranged(reach, partition, some)

    def _sum(self, reach: Reach) -> tuple[str, Kind]:
        if self.random.random() < 0.3:
            kind = self.random.choice(reach.terms).kind
            kind = Kind.INT if kind is Kind.BOOL else kind
            return f"{self.random.choice(('MIN', 'MAX'))}({self.leaf(kind, reach)})", kind
        number = self.random.choice(NUMBERS)
        return f"SUM({self.leaf(number, reach)})", number

    def _ranged(self, reach: Reach, partition: str, some: str) -> Term:
        """Up to the last equal row, or between two distances: then the order is one number."""
        text, kind = self._sum(reach)
        number = self.pick(reach, (Kind.INT,))
        if number is None or not self.may("range frame", 0.8):
            return Term(f"{text} OVER ({partition}ORDER BY {some})", kind, outer=False)
        low = self.random.choice(("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW"))
        high = self.random.choice(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
        order = f"ORDER BY {self.ordered(number.text)} RANGE BETWEEN {low} AND {high}"
        return Term(f"{text} OVER ({partition}{order})", kind, outer=False)

    def _nulls(self) -> str:
        return " IGNORE NULLS" if self.may("ignore nulls", 0.5) else ""

    def _frame(self) -> str:
        if not self.may("frame", 0.5):
            return ""
        low = self.random.choice(("UNBOUNDED PRECEDING", "1 PRECEDING", "2 PRECEDING", "CURRENT ROW"))
        high = self.random.choice(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
        return f" ROWS BETWEEN {low} AND {high}"
