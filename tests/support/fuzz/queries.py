"""Random queries: filtered, grouped, windowed, limited, united, nested, with subqueries that look outside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from tests.support.fuzz.expressions import Reach, Term, inside, without_subqueries
from tests.support.fuzz.relations import Output, Query, Relations
from tests.support.fuzz.schema import COMPARABLE, NUMBERS, Kind, Source

FEATURES = (
    "case", "coalesce", "join chain", "inner join", "left join", "right join", "full join", "semi join", "anti join", "cross join",
    "using", "other condition", "lateral", "explode", "derived table", "values", "cte",
    "exists", "in subquery", "scalar subquery", "correlated",
    "group by", "having", "total", "grouping sets", "count distinct", "filter", "avg", "extremum", "deviation",
    "bool aggregate", "bit aggregate",
    "distinct", "union", "intersect", "except", "window", "frame", "limit", "qualify", "recursion",
)  # fmt: skip
"""Every construct that the grammar has. A case uses some of them, so that those meet more often."""


@dataclass
class Queries(Relations):
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
        found = self.select(reach.deep, outer=inside(reach))
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

    def _set_word(self) -> str | None:
        for word in ("union", "intersect", "except"):
            if self.may(word, 0.12):
                return word.upper() + self.random.choice(("", " ALL"))
        return None

    def _set(self, word: str, deep: int, kinds: tuple[Kind, ...] | None) -> Query:
        left = self.select(deep, kinds, exact=True)
        right = self.select(deep, tuple(each.kind for each in left.outputs), exact=True)
        text = f"{left.text} {word} {right.text}"
        if deep > 0 and (other := self._set_word()):
            third = self.select(0, tuple(each.kind for each in left.outputs), exact=True)
            text = f"({text}) {other} {third.text}"
        found = Query(text, left.outputs)
        return self._limited(found) if self.may("limit", 0.1) else found

    def _limited(self, query: Query) -> Query:
        if any(each.kind not in COMPARABLE for each in query.outputs):
            return query
        order = ", ".join(self._ordered(each.name) for each in query.outputs)
        offset = f" OFFSET {self.random.randint(0, 3)}" if self.random.random() < 0.4 else ""
        return Query(f"{query.text} ORDER BY {order} LIMIT {self.random.randint(1, 5)}{offset}", query.outputs)

    def _ordered(self, text: str) -> str:
        return f"{text} {self.random.choice(('ASC', 'DESC'))} NULLS {self.random.choice(('FIRST', 'LAST'))}"

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
                text += f" HAVING {self.predicate(reach, 1)}"
        if self.may("window", 0.3):
            windows = self._windows(reach)
            reach = replace(reach, terms=reach.terms + windows)
            if windows and self.may("qualify", 0.2):
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
            tests.append(self.predicate(reach, 1))
        return text + (f" HAVING {' AND '.join(tests)}" if tests else ""), reach

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
        if self.may("deviation", 0.1):
            name = random.choice(("STDDEV", "STDDEV_POP", "VAR_POP", "VAR_SAMP"))
            return f"{name}({self.expression(number, reach, 0)})", Kind.APPROXIMATE
        if self.may("bool aggregate", 0.1):
            return f"{random.choice(('BOOL_AND', 'BOOL_OR'))}({self.predicate(reach, 0)})", Kind.BOOL
        if self.may("bit aggregate", 0.05):
            column = self.pick(reach, (Kind.INT,))
            if column:
                return f"{random.choice(('BIT_AND', 'BIT_OR', 'BIT_XOR'))}({column.text})", Kind.INT
        if random.random() < 0.5:
            return f"SUM({self.expression(number, reach, 1)})", number
        return random.choice(("COUNT(*)", f"COUNT({self.leaf(self._some_kind(reach), reach)})")), Kind.INT

    def _windows(self, reach: Reach) -> tuple[Term, ...]:
        """One or two window functions. Rows are ordered by all their columns: ties are equal rows."""
        columns = tuple(term for term in reach.terms if term.kind in COMPARABLE)
        if not columns or len(columns) < len(reach.terms):
            return ()
        reach = replace(reach, terms=columns, subqueries=False)
        return tuple(self._window(reach) for _ in range(self.random.randint(1, 2)))

    def _window(self, reach: Reach) -> Term:
        random, terms = self.random, reach.terms
        parts = random.sample(terms, min(len(terms), random.choices((0, 1, 2), weights=(2, 5, 1))[0]))
        partition = f"PARTITION BY {', '.join(term.text for term in parts)} " if parts else ""
        shuffled = random.sample(terms, len(terms))
        total = ", ".join(self._ordered(term.text) for term in shuffled)
        kind = random.choice(terms).kind
        value = self.leaf(kind, reach)
        number = random.choice(NUMBERS)
        match random.randrange(6):
            case 0:
                name = random.choice(("ROW_NUMBER()", "NTILE(2)", "NTILE(3)"))
                return Term(f"{name} OVER ({partition}ORDER BY {total})", Kind.INT, outer=False)
            case 1:
                name = random.choice(("RANK()", "DENSE_RANK()"))
                some = ", ".join(self._ordered(term.text) for term in shuffled[: random.randint(1, 2)])
                return Term(f"{name} OVER ({partition}ORDER BY {some})", Kind.INT, outer=False)
            case 2:
                name = random.choice(("LAG", "LEAD"))
                more = random.choice(("", ", 1", ", 2"))
                return Term(f"{name}({value}{more}) OVER ({partition}ORDER BY {total})", kind, outer=False)
            case 3:
                name = random.choice(("FIRST_VALUE", "LAST_VALUE"))
                return Term(f"{name}({value}) OVER ({partition}ORDER BY {total}{self._frame()})", kind, outer=False)
            case 4:
                text = random.choice(("COUNT(*)", f"COUNT({value})"))
                return Term(f"{text} OVER ({partition.strip()})", Kind.INT, outer=False)
            case _:
                text, kind = (f"SUM({self.leaf(number, reach)})", number)
                if random.random() < 0.3:
                    number_or = shuffled[0].kind if shuffled[0].kind is not Kind.BOOL else Kind.INT
                    text, kind = f"MAX({self.leaf(number_or, reach)})", number_or
                return Term(f"{text} OVER ({partition}ORDER BY {total}{self._frame()})", kind, outer=False)

    def _frame(self) -> str:
        if not self.may("frame", 0.5):
            return ""
        low = self.random.choice(("UNBOUNDED PRECEDING", "1 PRECEDING", "2 PRECEDING", "CURRENT ROW"))
        high = self.random.choice(("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
        return f" ROWS BETWEEN {low} AND {high}"

    def scalar(self, kind: Kind, reach: Reach) -> str:
        clause, terms = self.from_clause(reach.deep - 1)
        inner = Reach(terms, reach.deep - 1, inside(reach))
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

    def members(self, kind: Kind, reach: Reach) -> str:
        return self.select(reach.deep - 1, (kind,), outer=inside(reach), exact=True).text

    def existence(self, reach: Reach) -> str:
        return self.select(reach.deep - 1, outer=inside(reach), exact=True).text


def random_query(
    random: Random, sources: tuple[Source, ...], features: frozenset[str], always: frozenset[str] = frozenset()
) -> tuple[Query, Queries]:
    """A query with some of the features, and its writer, which knows what it used."""
    writer = Queries(random, features, always, sources=sources)
    return writer.query(random.choice((0, 1, 1, 2, 2, 3)), top=True), writer
