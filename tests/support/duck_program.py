"""Carries out the program of a node in DuckDB: each step fills a table of the schema `step`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlglot import exp

from spark_trickle.delta.plan import Node
from spark_trickle.delta.program import Compute, Gather, Inline, Program, Step, Together, Where
from spark_trickle.sql.leaves import Leaf, StepLeaf
from tests.support.duck_dialect import duck_sql

_GATHERED = StepLeaf("gathered")


class Database(Protocol):
    def run(self, sql: str) -> list[tuple[Any, ...]]: ...

    def fill(self, table: str, query: str) -> int:
        """Put what a query gives into a table; how many rows are there?"""
        ...


@dataclass
class Carrier:
    """What is done to the nodes of one stream table."""

    database: Database
    named: Callable[[Leaf], str]
    """The table of DuckDB that a leaf is."""
    recomputations: int = 0
    """Groups that were computed again."""
    texts: dict[tuple[int, Leaf], str] = field(default_factory=dict)
    """SQL that was generated before, by the query of a program that somebody keeps."""

    def rows_to_write(self, node: Node, made: Program) -> int:
        """Do all that comes before the writing."""
        counts: dict[StepLeaf, int] = {}
        self._carry_out(node, made.steps, counts, node.leaf)
        return counts.get(made.writes, 0)

    def _carry_out(self, node: Node, steps: Iterable[Step], counts: dict[StepLeaf, int], target: Leaf) -> None:
        """Whose rows `step.target` has is the table itself, until they are gathered."""
        for step in steps:
            match step:
                case Compute() | Inline():
                    counts[step.step] = self._fill(node, step.step, step.query, target)
                case Together():
                    self._carry_out(node, step.parts, counts, target)
                case Gather():
                    self._fill(node, _GATHERED, step.query, target)
                    target = _GATHERED
                case Where():
                    again = self._rows(step, counts)
                    self.recomputations += again if step.flag is not None else 0
                    if again:
                        self._carry_out(node, step.then, counts, target)

    def _rows(self, step: Where, counts: dict[StepLeaf, int]) -> int:
        if step.flag is None:
            return counts[step.step]
        return int(self.database.run(f"SELECT COUNT(*) FROM {self.named(step.step)} WHERE {step.flag}")[0][0])

    def _fill(self, node: Node, step: StepLeaf, query: exp.Query, target: Leaf) -> int:
        key = (id(query), target)
        if key not in self.texts:
            self.texts[key] = duck_sql(query, target, copy=query is node.query)
        return self.database.fill(self.named(step), self.texts[key])
