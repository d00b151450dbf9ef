"""Random FROM clauses: tables, derived tables, CTEs, VALUES, and every way to join them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.fuzz.expressions import Expressions, Reach, Term
from tests.support.fuzz.schema import COMPARABLE, NUMBERS, Kind, Source
from tests.support.fuzz.wild import WILD

_WINDOWS = ("'2 minutes'", "'4 minutes', '2 minutes'", "'3 minutes', '3 minutes', '1 minute'")
_HOW = {
    "inner join": "JOIN",
    "left join": "LEFT JOIN",
    "right join": "RIGHT JOIN",
    "full join": "FULL JOIN",
    "semi join": "LEFT SEMI JOIN",
    "anti join": "LEFT ANTI JOIN",
    "cross join": "CROSS JOIN",
    "lateral": "LATERAL",
}


@dataclass(frozen=True)
class Output:
    name: str
    kind: Kind


@dataclass(frozen=True)
class Query:
    """A query and what it gives."""

    text: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Relation:
    """Something to select from, with its name in the clause."""

    text: str
    alias: str
    outputs: tuple[Output, ...]

    def terms(self) -> tuple[Term, ...]:
        return tuple(Term(f"{self.alias}.{output.name}", output.kind) for output in self.outputs)


@dataclass
class Relations(Expressions):
    """Writes FROM clauses."""

    sources: tuple[Source, ...] = ()
    ctes: list[tuple[str, tuple[Output, ...]]] = field(default_factory=list)
    names: int = 0

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def derived(self, deep: int) -> Query:
        """A query to select from."""
        raise NotImplementedError

    def dependent(self, reach: Reach) -> Query:
        """A query to select from that may use columns of its neighbours."""
        raise NotImplementedError

    def relation(self, deep: int, *, first: bool = False) -> Relation:
        alias = self.name("a")
        self.room -= 1
        if self.ctes and self.random.random() < 0.6:
            name, outputs = self.random.choice(self.ctes)
            return Relation(f"{name} AS {alias}", alias, outputs)
        if deep > 0 and self.room > 0 and self.may("derived table", 0.3):
            query = self.derived(deep - 1)
            return Relation(f"({query.text}) AS {alias}", alias, query.outputs)
        if self.may("values", 0.05):
            return self._values(alias)
        if self.may("pivot", 0.08):
            return self._turned(self._pivot(alias, deep), first)
        if self.may("unpivot", 0.08):
            return self._turned(self._unpivot(alias, deep), first)
        if self._on_spark and self.may("explode", 0.05):
            return self._in_windows_of_time(alias, deep)
        source = self.random.choice(self.sources)
        return Relation(f"{source.name} AS {alias}", alias, tuple(Output(c.name, c.kind) for c in source.columns))

    @property
    def _on_spark(self) -> bool:
        """DuckDB never sees columns of such kinds, and has no windows of time."""
        return any(column.kind in WILD for source in self.sources for column in source.columns)

    def _in_windows_of_time(self, alias: str, deep: int) -> Relation:
        """Rows once for each window that they lie in: by their beginning, and by another column."""
        random, inner = self.random, self.relation(deep - 1, first=True)
        reach = Reach(inner.terms(), 0, subqueries=False)
        group = self.pick(reach, COMPARABLE) or Term("1", Kind.INT)
        minutes = self.leaf(Kind.INT, reach)
        window = f"window(timestamp_seconds(CAST({minutes} AS BIGINT) * 60), {random.choice(_WINDOWS)})"
        start = f"CAST(unix_seconds({window}.start) / 60 AS INT)"
        if random.random() < 0.5:
            outputs = (Output("g", group.kind), Output("w", Kind.INT))
            return Relation(f"(SELECT {group.text} AS g, {start} AS w FROM {inner.text}) AS {alias}", alias, outputs)
        counted = f"SELECT {start} AS w, CAST(COUNT({group.text}) AS INT) AS n FROM {inner.text} GROUP BY {window}"
        return Relation(f"({counted}) AS {alias}", alias, (Output("w", Kind.INT), Output("n", Kind.INT)))

    def _values(self, alias: str) -> Relation:
        kinds = [Kind.INT, *self.random.choices((Kind.INT, Kind.TEXT, Kind.DECIMAL), k=self.random.randint(0, 1))]
        rows = [[self.literal(kind) for kind in kinds] for _ in range(self.random.randint(1, 4))]
        outputs = tuple(Output(f"v{place}", kind) for place, kind in enumerate(kinds))
        text = ", ".join(f"({', '.join(row)})" for row in rows)
        names = ", ".join(output.name for output in outputs)
        return Relation(f"(VALUES {text}) AS {alias}({names})", alias, outputs)

    def _turned(self, relation: Relation, first: bool) -> Relation:
        """Behind a join PIVOT would turn the whole join."""
        if first and self.random.random() < 0.5:
            return Relation(f"{relation.text} AS {relation.alias}", relation.alias, relation.outputs)
        return Relation(f"(SELECT * FROM {relation.text}) AS {relation.alias}", relation.alias, relation.outputs)

    def _pivot(self, alias: str, deep: int) -> Relation:
        """One column to group by, one whose values become columns, one to compute with."""
        random, inner = self.random, self.relation(deep - 1, first=True)
        reach = Reach(inner.terms(), 0, subqueries=False)
        group = self.pick(reach, COMPARABLE) or Term("1", Kind.INT)
        by = self.pick(reach, (Kind.INT, Kind.TEXT)) or Term("1", Kind.INT)
        number = random.choice((Kind.INT, Kind.DECIMAL))
        names = random.choice((("SUM",), ("MAX",), ("SUM", "MIN")))
        calls = ", ".join(f"{name}(n)" if len(names) == 1 else f"{name}(n) AS {name.lower()}" for name in names)
        values = dict.fromkeys(self.literal(by.kind) for _ in range(random.randint(1, 3)))
        listed = ", ".join(f"{value} AS p{place}" for place, value in enumerate(values))
        ends = [""] if len(names) == 1 else [f"_{name.lower()}" for name in names]
        outputs = (
            Output("g", group.kind),
            *(Output(f"p{place}{end}", number) for place in range(len(values)) for end in ends),
        )
        rows = f"SELECT {group.text} AS g, {by.text} AS k, {self.leaf(number, reach)} AS n FROM {inner.text}"
        return Relation(f"({rows}) PIVOT ({calls} FOR k IN ({listed}))", alias, outputs)

    def _unpivot(self, alias: str, deep: int) -> Relation:
        random, inner = self.random, self.relation(deep - 1, first=True)
        reach = Reach(inner.terms(), 0, subqueries=False)
        group = self.pick(reach, COMPARABLE) or Term("1", Kind.INT)
        kind = random.choice((Kind.INT, Kind.TEXT))
        values = [self.leaf(kind, reach) for _ in range(random.randint(1, 3))]
        rows = ", ".join((f"{group.text} AS g", *(f"{value} AS u{place}" for place, value in enumerate(values))))
        named = ", ".join(f"u{place}{random.choice(('', f' AS x{place}'))}" for place in range(len(values)))
        nulls = random.choice(("", " INCLUDE NULLS"))
        outputs = (Output("g", group.kind), Output("k", Kind.TEXT), Output("v", kind))
        text = f"(SELECT {rows} FROM {inner.text}) UNPIVOT{nulls} (v FOR k IN ({named}))"
        return Relation(text, alias, outputs)

    def from_clause(self, deep: int) -> tuple[str, tuple[Term, ...]]:
        """The clause, and the columns in reach after it."""
        first = self.relation(deep, first=True)
        if self.may("using", 0.12):
            found = self._using(first)
            if found:
                return found
        if self.may("join chain", 0.2):
            return self._chain(first, deep)
        text, terms = first.text, first.terms()
        ways = [feature for feature in _HOW if feature in self.features]
        for _ in range(self.random.choices((0, 1, 2, 3), weights=(45, 35, 15, 5))[0]):
            if self.room <= 0 or not ways:
                break
            way = self.random.choice(ways)
            text, terms = self._joined(text, terms, way, deep)
        return self._exploded(text, terms) if self.may("explode", 0.25) else (text, terms)

    def _chain(self, first: Relation, deep: int) -> tuple[str, tuple[Term, ...]]:
        """Three to six inputs of inner joins: equalities along a chain, around one table, or over and over."""
        random = self.random
        text, terms, last = first.text, first.terms(), first.terms()
        around = random.random() < 0.4
        for _ in range(random.choices((2, 3, 4, 5), weights=(4, 3, 2, 1))[0]):
            other = self.relation(deep if random.random() < 0.2 else 0)
            near = random.choice((last, terms))
            if random.random() < 0.1:
                text += f" CROSS JOIN {other.text}"
            else:
                text += f" JOIN {other.text} ON {self.condition(near, other.terms())}"
            terms += other.terms()
            last = last if around else other.terms()
        return text, terms

    def _joined(self, text: str, terms: tuple[Term, ...], way: str, deep: int) -> tuple[str, tuple[Term, ...]]:
        if way == "lateral":
            if deep <= 0:
                return text, terms
            self.used[way] += 1
            query, alias = self.dependent(Reach(terms, deep - 1)), self.name("a")
            columns = Relation("", alias, query.outputs).terms()
            if self.random.random() < 0.5:
                return f"{text} CROSS JOIN LATERAL ({query.text}) AS {alias}", terms + columns
            return f"{text} LEFT JOIN LATERAL ({query.text}) AS {alias} ON TRUE", terms + columns
        self.used[way] += 1
        other = self.relation(deep)
        columns = other.terms()
        if way == "cross join":
            return f"{text} CROSS JOIN {other.text}", terms + columns
        both = terms if way in ("semi join", "anti join") else terms + columns
        return f"{text} {_HOW[way]} {other.text} ON {self.condition(terms, columns)}", both

    def _exploded(self, text: str, terms: tuple[Term, ...]) -> tuple[str, tuple[Term, ...]]:
        reach = Reach(terms, 0, subqueries=False)
        parts = ", ".join(self.leaf(Kind.INT, reach) for _ in range(self.random.randint(1, 3)))
        alias = self.name("e")
        outer = self.random.choice(("", "OUTER "))
        if self.may("posexplode", 0.4):
            view = f"{text} LATERAL VIEW {outer}POSEXPLODE(ARRAY({parts})) {alias} AS p, x"
            return view, (*terms, Term(f"{alias}.p", Kind.INT), Term(f"{alias}.x", Kind.INT))
        view = f"{text} LATERAL VIEW {outer}EXPLODE(ARRAY({parts})) {alias} AS x"
        return view, (*terms, Term(f"{alias}.x", Kind.INT))

    def condition(self, left: tuple[Term, ...], right: tuple[Term, ...]) -> str:
        """What relates two sides."""
        random, both = self.random, Reach(left + right, 0, subqueries=False)
        if self.may("other condition", 0.25):
            if random.random() < 0.15:
                return random.choice(("TRUE", "FALSE", "1 = 1"))
            return self.predicate(both, 1)
        mixed = NUMBERS if random.random() < 0.15 else ()
        pairs = [
            (a, b)
            for a in left
            for b in right
            if (a.kind is b.kind and a.kind in COMPARABLE) or (a.kind in mixed and b.kind in mixed)
        ]
        if not pairs:
            return self.predicate(both, 0)
        found = []
        for a, b in random.sample(pairs, min(len(pairs), random.choices((1, 2), weights=(5, 1))[0])):
            same = "<=>" if random.random() < 0.1 else "="
            found.append(f"{b.text} {same} {a.text}" if random.random() < 0.4 else f"{a.text} {same} {b.text}")
        if self.may("other condition", 0.2):
            found.append(self.predicate(both, 1))
        return " AND ".join(found)

    def _using(self, first: Relation) -> tuple[str, tuple[Term, ...]] | None:
        """A join by name; the common columns are named without a table, so an inner query must not name them."""
        source = self.random.choice(self.sources)
        second = Relation("", self.name("a"), tuple(Output(c.name, c.kind) for c in source.columns))
        known = {output.name: output.kind for output in first.outputs}
        common = [each for each in second.outputs if known.get(each.name) is each.kind and each.kind in COMPARABLE]
        clash = {each.name for each in second.outputs} & set(known) - {each.name for each in common}
        ways = [
            feature for feature in ("inner join", "left join", "right join", "full join") if feature in self.features
        ]
        if not common or clash or not ways:
            return None
        way = self.random.choice(ways)
        natural = self.random.random() < 0.4
        chosen = common if natural else self.random.sample(common, self.random.randint(1, len(common)))
        names = {each.name for each in chosen}
        listed = ", ".join(each.name for each in chosen)
        word, using = ("NATURAL ", "") if natural else ("", f" USING ({listed})")
        text = f"{first.text} {word}{_HOW[way]} {source.name} AS {second.alias}{using}"
        rest = [term for each in (first, second) for term in each.terms() if term.text.split(".")[1] not in names]
        return text, (*(Term(each.name, each.kind, outer=False) for each in chosen), *rest)
