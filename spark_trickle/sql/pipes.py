"""Reading of `query |> step |> step`: each step becomes a SELECT over what comes before it, in that order. What a step
reads is marked as piped: the names of tables are still known there, as long as nothing was selected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

PIPED = "piped"
"""Mark on what a step reads, and on a star some of whose columns a step sets."""
_ORDERED = "ordered"
"""Mark on a step that is an order and no more: LIMIT right after it cuts in that order."""

_SET_OPERATIONS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_ORDERS = (
    TokenType.ORDER_BY,
    TokenType.SORT_BY,
    TokenType.CLUSTER_BY,
    TokenType.DISTRIBUTE_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
)


class PipeParser(SparkParser):
    """Spark's parser with its own idea of pipes, and `TABLE t` as a query."""

    SUPPORTS_TABLE_QUERY = True

    def _parse_select(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
        consume_pipe: bool = True,
    ) -> exp.Expr | None:
        found = super()._parse_select(nested, table, parse_subquery_alias, parse_set_operation, consume_pipe=False)
        # A pipe takes the whole set operation before it, and all of FROM: it never follows one of its tables.
        if table or not consume_pipe or not parse_set_operation or not self._match(TokenType.PIPE_GT, advance=False):
            return found
        if isinstance(found, exp.Values):
            found = _over(found)
        if not isinstance(found, exp.Query):
            return found
        return self._parse_pipe_syntax_query(found)

    def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
        found = super()._parse_wrapped_select(table)
        if isinstance(found, exp.Query) and self._match(TokenType.PIPE_GT, advance=False):
            found = self._parse_query_modifiers(self._parse_pipe_syntax_query(found))
        return found

    def _parse_from(
        self, joins: bool = False, skip_from_token: bool = False, consume_pipe: bool = False
    ) -> exp.From | None:
        return super()._parse_from(joins, skip_from_token, consume_pipe=False)

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query:
        while self._match(TokenType.PIPE_GT):
            query = self._parse_step(query)
        return query

    def _parse_step(self, query: exp.Query) -> exp.Query:
        kind, word = self._curr.token_type, self._curr.text.upper()
        if kind in _SET_OPERATIONS:
            found = self.parse_set_operation(exp.Subquery(this=query))
            assert found is not None
            return found
        if kind in _ORDERS:
            return self._parse_organized(query)
        if kind in (TokenType.PIVOT, TokenType.UNPIVOT):
            turned = _read(query)
            turned.set("pivots", self._parse_pivots())
            return _over(turned)
        if kind is TokenType.TABLE_SAMPLE:
            sampled = _read(query)
            sampled.set("sample", self._parse_table_sample())
            return _over(sampled)
        if word in self.STEPS:
            return self.STEPS[word](self, query)
        join = self._parse_join()
        if join is None:
            self.raise_error(f"{word} after |>")
        return _over(_read(query), joins=[join])

    def _parse_selected(self, query: exp.Query) -> exp.Query:
        selected = super()._parse_select(parse_set_operation=False, consume_pipe=False)
        if not isinstance(selected, exp.Select) or selected.args.get("from_"):
            self.raise_error("FROM in a step after |>")
            return query
        selected.set("from_", exp.From(this=_read(query)))
        return selected

    def _parse_extended(self, query: exp.Query) -> exp.Query:
        self._advance()
        return _over(_read(query), [exp.Star(), *self._parse_expressions()])

    def _parse_assigned(self, query: exp.Query) -> exp.Query:
        """Each assignment sees those before it."""
        self._advance()
        for name, value in self._parse_csv(self._parse_assignment_of_step):
            star = exp.Star(replace=[exp.alias_(value, name, copy=False)])
            star.meta[PIPED] = True
            query = _over(_read(query), [star])
        return query

    def _parse_assignment_of_step(self) -> Any:
        name = self._parse_id_var()
        if name is None or not self._match(TokenType.EQ):
            self.raise_error("name = value expected after |> SET")
        return name, self._parse_disjunction()

    def _parse_dropped(self, query: exp.Query) -> exp.Query:
        self._advance()
        return _over(_read(query), [exp.Star(except_=self._parse_csv(self._parse_id_var))])

    def _parse_named(self, query: exp.Query) -> exp.Query:
        self._advance()
        return _over(exp.Subquery(this=query, alias=exp.TableAlias(this=self._parse_id_var())))

    def _parse_kept(self, query: exp.Query) -> exp.Query:
        return _over(_read(query), where=self._parse_where())

    def _parse_aggregated(self, query: exp.Query) -> exp.Query:
        """The keys come first, then the aggregates."""
        self._advance()
        calls = [] if self._match(TokenType.GROUP_BY, advance=False) else self._parse_expressions()
        if not self._match(TokenType.GROUP_BY):
            return _over(_read(query), calls)
        keys = self._parse_expressions()
        if any(isinstance(key.unalias(), exp.Literal) for key in keys):
            self.raise_error("a position in GROUP BY after |> AGGREGATE")
        group = exp.Group(expressions=[key.unalias().copy() for key in keys])
        return _over(_read(query), [*keys, *calls], group=group)

    def _parse_organized(self, query: exp.Query) -> exp.Query:
        ordered = query if query.meta.get(_ORDERED) else _over(_read(query))
        ordered.meta.pop(_ORDERED, None)
        found = self._parse_query_modifiers(ordered)
        assert isinstance(found, exp.Query)
        if not found.args.get("limit") and not found.args.get("offset"):
            found.meta[_ORDERED] = True
        return found

    STEPS: ClassVar[dict[str, Callable[[PipeParser, exp.Query], exp.Query]]] = {
        "SELECT": _parse_selected,
        "EXTEND": _parse_extended,
        "SET": _parse_assigned,
        "DROP": _parse_dropped,
        "AS": _parse_named,
        "WHERE": _parse_kept,
        "AGGREGATE": _parse_aggregated,
    }


def _read(query: exp.Query) -> exp.Subquery:
    """What a step reads."""
    found = exp.Subquery(this=query)
    found.meta[PIPED] = True
    return found


def _over(source: exp.Expr, expressions: list[exp.Expr] | None = None, **clauses: Any) -> exp.Select:
    return exp.Select(expressions=expressions or [exp.Star()], from_=exp.From(this=source), **clauses)
