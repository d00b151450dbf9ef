"""Random expressions of a wanted kind over the columns in reach, as text that means the same in Spark and DuckDB.

Left out on purpose: `/` (integers differ), CONCAT (NULLs differ), conversions between text and numbers that may fail,
text of floating values. Every operation is in parentheses, so that a part can be put anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.support.fuzz.schema import COMPARABLE, NUMBERS, ORDERED_WILD, POOLS, Kind
from tests.support.fuzz.wild import WILD

_COMPARE = ("=", "=", "=", "<>", "<", "<=", ">", ">=", "<=>")
_ODD = ("-0.7001", "0.3001", "1.7001")
"""Quotients are compared with these: never equal, so that the last digit does not count."""


@dataclass(frozen=True)
class Term:
    """Something that has a value where an expression stands: a column, a grouped expression, an aggregate."""

    text: str
    kind: Kind
    outer: bool = True
    """May an inner query name it? A name without its table may mean something else there."""
    far: bool = False
    """Is it of a query around the one around?"""


@dataclass(frozen=True)
class Reach:
    """What an expression may use."""

    terms: tuple[Term, ...]
    deep: int
    """How many more levels of subqueries may be inside."""
    outer: tuple[Term, ...] = ()
    """Columns of the query around this one."""
    subqueries: bool = True


@dataclass
class Expressions:
    """Writes expressions; remembers which constructs it used."""

    random: Random
    features: frozenset[str]
    always: frozenset[str] = frozenset()
    """Constructs that are wanted in every query, three times as often as elsewhere."""
    used: Counter[str] = field(default_factory=Counter)
    room: int = 6
    """How many more relations the query may have: products of many are slow and find nothing new."""

    def may(self, feature: str, chance: float) -> bool:
        """Shall this construct be used here?"""
        if feature in self.always:
            chance = min(1.0, 3 * chance)
        elif feature not in self.features:
            return False
        if self.random.random() >= chance:
            return False
        self.used[feature] += 1
        return True

    def pick(self, reach: Reach, kinds: Sequence[Kind]) -> Term | None:
        found = [term for term in reach.terms if term.kind in kinds]
        return self.random.choice(found) if found else None

    def literal(self, kind: Kind) -> str:
        if kind in ORDERED_WILD:
            return self.random.choice(self.random.choice(WILD[kind][1])[1])
        value = self.random.choice(POOLS[kind])
        match kind:
            case Kind.DOUBLE:
                return f"CAST({value} AS DOUBLE)"
            case Kind.TEXT:
                return f"'{value}'"
            case Kind.DATE:
                return f"DATE '{value}'"
            case _:
                return str(value).upper()

    def leaf(self, kind: Kind, reach: Reach) -> str:
        term = self.pick(reach, (kind,))
        if term is not None and self.random.random() < 0.85:
            return term.text
        inner = self.pick(reach, tuple(_INSIDE)) if kind is Kind.INT else None
        if inner is not None and self.random.random() < 0.7:
            return _INSIDE[inner.kind].format(inner.text)
        number = self.pick(reach, (Kind.INT,))
        if number is not None and kind in (Kind.DECIMAL, Kind.DOUBLE, Kind.TEXT) and self.random.random() < 0.5:
            return f"CAST({number.text} AS {_CAST[kind]})"
        return self.literal(kind)

    def expression(self, kind: Kind, reach: Reach, size: int = 2) -> str:
        """An expression of a kind; a smaller size is a simpler one."""
        random = self.random
        if kind in (Kind.RATIO, Kind.APPROXIMATE, Kind.DICTIONARY):
            term = self.pick(reach, (kind,))
            return term.text if term else _SHOWN_ONLY[kind]
        if size <= 0 or random.random() < 0.45:
            return self.leaf(kind, reach)
        if self.may_nest(reach) and self.may("scalar subquery", 0.12):
            return self.scalar(kind, reach)
        if kind is Kind.BOOL:
            return self.predicate(reach, size)

        def part(wanted: Kind = kind) -> str:
            return self.expression(wanted, reach, size - 1)

        if self.may("case", 0.2):
            test = self.predicate(reach, size - 1)
            otherwise = f" ELSE {part()}" if random.random() < 0.7 else ""
            return f"CASE WHEN {test} THEN {part()}{otherwise} END"
        if self.may("coalesce", 0.2):
            name = random.choice(("COALESCE", "COALESCE", "NULLIF", "GREATEST", "LEAST"))
            return f"{name}({part()}, {part()})"
        return _FORMS[kind](self, part)

    def predicate(self, reach: Reach, size: int = 2, whole: bool = False) -> str:
        """A condition; a whole one is all of a WHERE, or joined to it by AND, so that NULL is as good as false."""
        random = self.random
        if self.may_nest(reach):
            if self.may("exists", 0.12):
                return f"{self._perhaps_not()}EXISTS ({self.existence(reach)})"
            if self.may("in subquery", 0.12):
                several = 2 if self.may("in of several columns", 0.4) else 1
                kinds = tuple(self._some_kind(reach) for _ in range(several))
                value = ", ".join(self.expression(kind, reach, size - 1) for kind in kinds)
                value = f"({value})" if several > 1 else value
                test = f"({value} {self._perhaps_not()}IN ({self.members(kinds, reach)}))"
                # Where IN is not known, Spark says false, DuckDB NULL.
                return test if whole else f"COALESCE({test}, FALSE)"
        if size > 0 and random.random() < 0.3:
            word = random.choice((" AND ", " AND ", " OR "))
            negated = random.random() < 0.2
            parts = [self.predicate(reach, size - 1, whole and word == " AND " and not negated) for _ in range(2)]
            return f"(NOT ({word.join(parts)}))" if negated else f"({word.join(parts)})"
        return self._simple(reach, size)

    def _simple(self, reach: Reach, size: int) -> str:
        random = self.random
        quotient = self.pick(reach, (Kind.RATIO,))
        if quotient is not None and random.random() < 0.3:
            return f"({quotient.text} {random.choice('<>')} {random.choice(_ODD)})"
        kind = self._some_kind(reach)
        value = self.expression(kind, reach, size - 1)
        if kind is Kind.BOOL:
            return value if random.random() < 0.7 else f"({value} IS NOT TRUE)"
        match random.randrange(10):
            case 0:
                return f"({value} IS {self._perhaps_not()}NULL)"
            case 1:
                listed = ", ".join(self.literal(kind) for _ in range(random.randint(1, 3)))
                return f"({value} {self._perhaps_not()}IN ({listed}))"
            case 2:
                return f"({value} BETWEEN {self.leaf(kind, reach)} AND {self.leaf(kind, reach)})"
            case 3 if kind is Kind.TEXT:
                return f"({value} {self._perhaps_not()}LIKE '{random.choice(('a%', '%b', '_', '%'))}')"
            case 4 | 5 if kind in NUMBERS:
                other = random.choice(NUMBERS)
                return f"({value} {random.choice(_COMPARE)} {self.leaf(other, reach)})"
            case _:
                return f"({value} {random.choice(_COMPARE)} {self.expression(kind, reach, size - 2)})"

    def may_nest(self, reach: Reach) -> bool:
        return reach.subqueries and reach.deep > 0 and self.room > 0

    def _some_kind(self, reach: Reach) -> Kind:
        term = self.pick(reach, COMPARABLE)
        return term.kind if term and self.random.random() < 0.9 else Kind.INT

    def _perhaps_not(self) -> str:
        return "NOT " if self.random.random() < 0.4 else ""

    def inside(self, reach: Reach) -> tuple[Term, ...]:
        """What an inner query may name of the query around it, and of those around that."""
        found = tuple(term for term in reach.terms if term.outer and term.kind in COMPARABLE)
        return found + tuple(replace(term, far=True) for term in reach.outer)

    def scalar(self, kind: Kind, reach: Reach) -> str:
        """A subquery of at most one row of one value."""
        raise NotImplementedError

    def members(self, kinds: tuple[Kind, ...], reach: Reach) -> str:
        """A subquery with columns of these kinds."""
        raise NotImplementedError

    def existence(self, reach: Reach) -> str:
        """A subquery of which only the number of rows matters."""
        raise NotImplementedError


_SHOWN_ONLY = {
    Kind.RATIO: "CAST(NULL AS DOUBLE)",
    Kind.APPROXIMATE: "CAST(NULL AS DOUBLE)",
    Kind.DICTIONARY: "map('z', 0)",
}
_INSIDE = {
    Kind.WORDS: "LENGTH({})",
    Kind.BYTES: "LENGTH({})",
    Kind.DAY: "YEAR({})",
    Kind.WALL: "DAY({})",
    Kind.MOMENT: "HOUR({})",
    Kind.LIST: "SIZE({})",
    Kind.NESTED: "CARDINALITY({})",
    Kind.RECORD: "{}.a",
    Kind.DICTIONARY: "{}['a']",
}
"""Integers that are part of other values."""
_CAST = {Kind.DECIMAL: "DECIMAL(12,2)", Kind.DOUBLE: "DOUBLE", Kind.TEXT: "STRING"}
Part = Callable[..., str]


def _integer(write: Expressions, part: Part) -> str:
    match write.random.randrange(9):
        case 0 | 1:
            return f"({part()} + {part()})"
        case 2:
            return f"({part()} - {part()})"
        case 3:
            return f"({part()} * {part()})"
        case 4:
            return f"({part()} % 3)"
        case 5:
            return f"ABS({part()})"
        case 6:
            return f"LENGTH({part(Kind.TEXT)})"
        case 7:
            return f"{write.random.choice(('YEAR', 'MONTH'))}({part(Kind.DATE)})"
        case _:
            return f"(- {part()})"


def _decimal(write: Expressions, part: Part) -> str:
    match write.random.randrange(4):
        case 0:
            return f"({part()} + {part()})"
        case 1:
            return f"({part()} - {part(Kind.INT)})"
        case 2:
            return f"CAST({part()} * {part()} AS DECIMAL(18,4))"
        case _:
            return f"CAST({part(Kind.INT)} AS DECIMAL(12,2))"


def _double(write: Expressions, part: Part) -> str:
    match write.random.randrange(4):
        case 0:
            return f"({part()} + {part()})"
        case 1:
            return f"({part()} - {part(Kind.INT)})"
        case 2:
            return f"({part()} * 2)"
        case _:
            return f"CAST({part(Kind.INT)} AS DOUBLE)"


def _text(write: Expressions, part: Part) -> str:
    match write.random.randrange(4):
        case 0:
            return f"({part()} || {part()})"
        case 1:
            return f"SUBSTRING({part()}, 1, 1)"
        case _:
            return f"{write.random.choice(('UPPER', 'LOWER', 'TRIM'))}({part()})"


def _chosen(write: Expressions, part: Part) -> str:
    return f"{write.random.choice(('GREATEST', 'LEAST'))}({part()}, {part()})"


_FORMS: dict[Kind, Callable[[Expressions, Part], str]] = {
    Kind.INT: _integer,
    Kind.DECIMAL: _decimal,
    Kind.DOUBLE: _double,
    Kind.TEXT: _text,
    Kind.DATE: _chosen,
    **dict.fromkeys(ORDERED_WILD, _chosen),
}


def without_subqueries(reach: Reach) -> Reach:
    return replace(reach, subqueries=False)
