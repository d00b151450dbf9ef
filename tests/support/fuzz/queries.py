"""Random queries: filtered, grouped, windowed, limited, united, nested, with subqueries that look outside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.support.fuzz.expressions import Reach, Term, without_subqueries
from tests.support.fuzz.relations import Output, Query, Relations
from tests.support.fuzz.schema import COMPARABLE, NUMBERS, Kind, Source
from tests.support.fuzz.windows import Windows

FEATURES = (
    "case", "coalesce",
    "join chain", "inner join", "left join", "right join", "full join", "semi join", "anti join", "cross join", "using",
    "other condition", "lateral", "explode", "posexplode", "derived table", "values", "cte", "pivot", "unpivot",
    "exists", "in subquery", "in of several columns", "scalar subquery", "correlated", "correlated over two levels",
    "group by", "having", "subquery in having", "total", "grouping sets", "count distinct", "filter", "avg", "extremum",
    "deviation", "bool aggregate", "bit aggregate", "listagg", "median",
    "distinct", "union", "intersect", "except", "mixed set operations",
    "window", "frame", "range frame", "ignore nulls", "limit", "qualify", "recursion",
)  # fmt: skip
"""Every construct that the grammar has. A case uses some of them, so that those meet more often."""
NEEDS = {
    "frame": ("window",), "range frame": ("window",), "ignore nulls": ("window",), "qualify": ("window",),
    "listagg": ("group by",), "median": ("group by",), "subquery in having": ("group by", "having"),
    "mixed set operations": ("union", "except"), "posexplode": ("explode",), "in of several columns": ("in subquery",),
    "correlated over two levels": ("correlated", "exists", "in subquery", "scalar subquery"),
}  # fmt: skip
"""Constructs that are only met inside of others."""


@dataclass
class Queries(Relations, Windows):
    """Writes queries."""

    def query(self, deep: int, kinds: tuple[Kind, ...] | None = None, top: bool = False) -> Query:
        if self.may("cte", 0.25):
            return self._with(deep, kinds, top)
        if deep > 0 and (word := self._set_word()):
            return self._set(word, deep - 1, kinds)
        if kinds is None and self.may("recursion", 0.15):
            return self._recursion()
        limited = self.may("limit", 0.15)
        found = self.select(deep, kinds, top=top and not limited)
        return self._limited(found) if limited else found

    def derived(self, deep: int) -> Query:
        return self.query(deep)

    def dependent(self, reach: Reach) -> Query:
        found = self.select(reach.deep, outer=self.inside(reach))
        if found.outputs and all(each.kind in COMPARABLE for each in found.outputs) and self.may("limit", 0.4):
            return self._limited(found)
        return found

    def _with(self, deep: int, kinds: tuple[Kind, ...] | None, top: bool) -> Query:
        first = self.query(max(deep - 1, 0))
        name = self.name("w")
        self.ctes.append((name, first.outputs))
        body = self.select(deep, kinds, top=top)
        self.ctes.pop()
        inner = f"{name} AS ({first.text})"
        return Query(f"WITH {inner} {body.text}", body.outputs)

    def _set_word(self, chance: float = 0.12) -> str | None:
        for word in ("union", "intersect", "except"):
            if self.may(word, chance):
                return word.upper() + self.random.choice(("", " ALL"))
        return None

    def _set(self, word: str, deep: int, kinds: tuple[Kind, ...] | None) -> Query:
        random = self.random
        left = self.select(deep, kinds, exact=True)
        right = self.select(deep, tuple(each.kind for each in left.outputs), exact=True)
        text = f"{left.text} {word} {right.text}"
        if (deep > 0 or "mixed set operations" in self.features) and (other := self._set_word(0.25)):
            self.used["mixed set operations"] += 1
            third = self.select(0, tuple(each.kind for each in left.outputs), exact=True)
            text = random.choice((f"({text}) {other} {third.text}", f"{third.text} {other} ({text})"))
        found = Query(text, left.outputs)
        return self._limited(found) if self.may("limit", 0.1) else found

    def _limited(self, query: Query) -> Query:
        if any(each.kind not in COMPARABLE for each in query.outputs):
            return query
        order = ", ".join(self.ordered(each.name) for each in query.outputs)
        offset = f" OFFSET {self.random.randint(0, 3)}" if self.random.random() < 0.4 else ""
        return Query(f"{query.text} ORDER BY {order} LIMIT {self.random.randint(1, 5)}{offset}", query.outputs)

    def _recursion(self) -> Query:
        """Paths along a table's first two columns of integers, at most three steps."""
        source = self.random.choice(self.sources)
        numbers = [column.name for column in source.columns if column.kind is Kind.INT]
        name, start, end = self.name("r"), numbers[0], numbers[-1]
        step = f"a.{end}" if start != end else f"a.{end} + 1"
        text = (
            f"WITH RECURSIVE {name}(c0, c1) AS (SELECT CAST({start} AS BIGINT), 0 FROM {source.name} UNION ALL "
            f"SELECT CAST({step} AS BIGINT), {name}.c1 + 1 FROM {name} "
            f"JOIN {source.name} AS a ON {name}.c0 = a.{start} "
            f"WHERE {name}.c1 < 2) SELECT c0, c1 FROM {name}"
        )
        return Query(text, (Output("c0", Kind.INT), Output("c1", Kind.INT)))

    def select(
        self,
        deep: int,
        kinds: tuple[Kind, ...] | None = None,
        *,
        outer: tuple[Term, ...] = (),
        top: bool = False,
        exact: bool = False,
    ) -> Query:
        """One SELECT."""
        clause, terms = self.from_clause(deep)
        reach = Reach(terms, deep, outer)
        text = f"FROM {clause}"
        if tests := self._where(reach):
            text += f" WHERE {' AND '.join(tests)}"
        distinct = self.may("distinct", 0.12)
        if self.may("group by", 0.35):
            text, reach = self._grouped(text, reach)
        elif self.may("total", 0.1):
            reach = self._aggregated(reach, ())
            if self.may("having", 0.2):
                text += f" HAVING {self._having(reach)}"
        if self.may("window", 0.3):
            windows = self.windows(reach)
            reach = replace(reach, terms=reach.terms + windows)
            if windows and windows[0].kind in COMPARABLE and self.may("qualify", 0.2):
                first = windows[0]
                text += f" QUALIFY ({first.text} {self.random.choice(('<', '>=', '<>'))} {self.literal(first.kind)})"
        wanted = kinds or self._kinds(reach, exact or not top or distinct)
        outputs = tuple(Output(f"c{place}", kind) for place, kind in enumerate(wanted))
        listed = ", ".join(f"{self._output(each.kind, reach)} AS {each.name}" for each in outputs)
        return Query(f"SELECT {'DISTINCT ' if distinct else ''}{listed} {text}", outputs)

    def _kinds(self, reach: Reach, exact: bool) -> tuple[Kind, ...]:
        allowed = [term.kind for term in reach.terms if term.kind in COMPARABLE or not exact]
        return tuple(self.random.choices(allowed or [Kind.INT], k=self.random.randint(1, 4)))

    def _output(self, kind: Kind, reach: Reach) -> str:
        term = self.pick(reach, (kind,))
        if term is not None and self.random.random() < 0.6:
            return term.text
        return self.expression(kind, reach)

    def _where(self, reach: Reach) -> list[str]:
        found = []
        if reach.outer and self.may("correlated", 0.75):
            pairs = [(a, b) for a in reach.terms for b in reach.outer if a.kind is b.kind and a.kind in COMPARABLE]
            far = [(a, b) for a, b in pairs if b.far]
            pairs = far if far and self.may("correlated over two levels", 0.6) else [p for p in pairs if not p[1].far]
            for a, b in self.random.sample(pairs, min(1, len(pairs))):
                found.append(f"{a.text} {self.random.choice(('=', '=', '=', '=', '<', '<>'))} {b.text}")
        if self.random.random() < 0.5:
            found.append(self.predicate(reach, whole=True))
        return found

    def _grouped(self, text: str, reach: Reach) -> tuple[str, Reach]:
        random = self.random
        columns = [term for term in reach.terms if term.kind in COMPARABLE]
        if not columns:
            return text, self._aggregated(reach, ())
        keys = random.sample(columns, min(len(columns), random.choices((1, 2, 3), weights=(6, 3, 1))[0]))
        extra: tuple[Term, ...] = ()
        if self.may("grouping sets", 0.25):
            listed = ", ".join(key.text for key in keys)
            sets = ", ".join(
                f"({', '.join(key.text for key in keys if random.random() < 0.6)})" for _ in range(random.randint(1, 3))
            )
            whole = f"({listed})"
            text += " GROUP BY " + random.choice(
                (f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({whole}, {sets})")
            )
            extra = (Term(f"GROUPING({keys[0].text})", Kind.INT, outer=False),)
            keys = [replace(key, outer=False) for key in keys]
        else:
            keys = [self._key(key) for key in keys]
            text += f" GROUP BY {', '.join(key.text for key in keys)}"
        reach = self._aggregated(reach, (*keys, *extra))
        # Without a row DuckDB has a grand total, Spark has none.
        tests = ["COUNT(*) > 0"] if extra else []
        if self.may("having", 0.25):
            tests.append(self._having(reach))
        return text + (f" HAVING {' AND '.join(tests)}" if tests else ""), reach

    def _having(self, reach: Reach) -> str:
        """A condition on groups, sometimes a comparison with a subquery's value."""
        term = self.pick(reach, COMPARABLE)
        if term is None or not self.may_nest(reach) or not self.may("subquery in having", 0.6):
            return self.predicate(reach, 1)
        compare = self.random.choice(("=", "<", ">=", "<>"))
        return f"({term.text} {compare} {self.scalar(term.kind, reach)})"

    def _key(self, term: Term) -> Term:
        if self.random.random() < 0.75:
            return term
        match term.kind:
            case Kind.INT:
                text = f"({term.text} % 2)"
            case Kind.TEXT:
                text = f"UPPER({term.text})"
            case Kind.DATE:
                return Term(f"YEAR({term.text})", Kind.INT, outer=False)
            case _:
                return term
        return Term(text, term.kind, outer=False)

    def _aggregated(self, reach: Reach, keys: tuple[Term, ...]) -> Reach:
        calls = tuple(self._call(without_subqueries(reach)) for _ in range(self.random.randint(1, 3)))
        return replace(reach, terms=keys + calls)

    def _call(self, reach: Reach) -> Term:
        text, kind = self._bare_call(reach)
        if self.may("filter", 0.15):
            text += f" FILTER (WHERE {self.predicate(reach, 0)})"
        return Term(text, kind, outer=False)

    def _bare_call(self, reach: Reach) -> tuple[str, Kind]:
        random = self.random
        number = random.choice(NUMBERS)
        if self.may("extremum", 0.25):
            kind = self._some_kind(reach)
            kind = Kind.INT if kind is Kind.BOOL else kind
            return f"{random.choice(('MIN', 'MAX'))}({self.expression(kind, reach, 1)})", kind
        if self.may("avg", 0.15):
            return f"AVG({self.expression(number, reach, 1)})", Kind.RATIO
        if self.may("count distinct", 0.15):
            kind = self._some_kind(reach)
            if random.random() < 0.3:
                return f"SUM(DISTINCT {self.expression(number, reach, 0)})", number
            return f"COUNT(DISTINCT {self.expression(kind, reach, 1)})", Kind.INT
        if rare := self._rare_call(reach, number):
            return rare
        if random.random() < 0.5:
            return f"SUM({self.expression(number, reach, 1)})", number
        return random.choice(("COUNT(*)", f"COUNT({self.leaf(self._some_kind(reach), reach)})")), Kind.INT

    def _rare_call(self, reach: Reach, number: Kind) -> tuple[str, Kind] | None:
        random = self.random
        if self.may("deviation", 0.1):
            name = random.choice(("STDDEV", "STDDEV_POP", "VAR_POP", "VAR_SAMP"))
            return f"{name}({self.expression(number, reach, 0)})", Kind.APPROXIMATE
        if self.may("bool aggregate", 0.1):
            return f"{random.choice(('BOOL_AND', 'BOOL_OR'))}({self.predicate(reach, 0)})", Kind.BOOL
        if self.may("bit aggregate", 0.05):
            column = self.pick(reach, (Kind.INT,))
            if column:
                return f"{random.choice(('BIT_AND', 'BIT_OR', 'BIT_XOR'))}({column.text})", Kind.INT
        wild = self.pick(reach, (Kind.WIDE, Kind.HUGE))
        if wild and random.random() < 0.3:
            return f"SUM({wild.text})", wild.kind
        listed = self.pick(reach, (Kind.TEXT,))
        if listed and self.may("listagg", 0.15):
            return f"LISTAGG({listed.text}, '+') WITHIN GROUP (ORDER BY {listed.text})", Kind.TEXT
        if self.may("median", 0.08):
            return f"MEDIAN({self.leaf(Kind.INT, reach)})", Kind.RATIO
        return None

    def scalar(self, kind: Kind, reach: Reach) -> str:
        clause, terms = self.from_clause(reach.deep - 1)
        inner = Reach(terms, reach.deep - 1, self.inside(reach))
        tests = self._where(inner)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        inner = without_subqueries(inner)
        if kind is Kind.INT and self.random.random() < 0.4:
            call = self.random.choice(("COUNT(*)", f"COUNT({self.leaf(self._some_kind(inner), inner)})"))
        elif kind in NUMBERS and self.random.random() < 0.4:
            call = f"SUM({self.expression(kind, inner, 1)})"
        else:
            call = f"{self.random.choice(('MIN', 'MAX'))}({self.expression(kind, inner, 1)})"
            if kind is Kind.BOOL:
                call = f"BOOL_OR({self.predicate(inner, 1)})"
        return f"(SELECT {call} FROM {clause}{where})"

    def members(self, kinds: tuple[Kind, ...], reach: Reach) -> str:
        return self.select(reach.deep - 1, kinds, outer=self.inside(reach), exact=True).text

    def existence(self, reach: Reach) -> str:
        return self.select(reach.deep - 1, outer=self.inside(reach), exact=True).text


def random_query(
    random: Random,
    sources: tuple[Source, ...],
    features: frozenset[str],
    always: frozenset[str] = frozenset(),
    *,
    deep: tuple[int, ...] = (0, 1, 1, 2, 2, 3),
    room: int = 6,
) -> tuple[Query, Queries]:
    """A query with some of the features, and its writer, which knows what it used."""
    writer = Queries(random, features, always, sources=sources, room=room)
    return writer.query(random.choice(deep), top=True), writer
