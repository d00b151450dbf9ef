"""What an operator is in the text of the query, and where: for those that speak of it. It makes no difference to the
operator.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from spark_trickle.sql.parse import place


@dataclass(frozen=True, slots=True)
class Said:
    """A clause of a text."""

    name: str
    line: int | None = None
    column: int | None = None
    grows: tuple[bool, ...] = ()
    """Of an aggregate that a clause was made into: for each branch of the union below it (or for all that is below it),
    whether more rows there only ever give more rows where the clause ends. Empty: nothing is known of that."""

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name} (line {self.line}, column {self.column})"


def said(
    text: str, node: exp.Expr | None, name: str, *, keyword: str | None = None, grows: tuple[bool, ...] = ()
) -> Said:
    """A clause, found by a node of it, or by the keyword that introduces it."""
    line, column = place(text, node, keyword)
    return Said(name, line, column, grows)


def grouped_by(text: str, node: exp.Select) -> Said:
    """What makes groups of the rows of a SELECT: its GROUP BY, or an aggregate of its own."""
    group = node.args.get("group")
    if group is not None:
        return said(text, group, "GROUP BY", keyword="GROUP")
    own = [call for call in node.find_all(exp.AggFunc) if call.find_ancestor(exp.Query) is node]
    if not own:
        return said(text, node, "the aggregate", keyword="SELECT")
    name = own[0].sql_name()
    return said(text, own[0], f"{name}(...)", keyword=name)
