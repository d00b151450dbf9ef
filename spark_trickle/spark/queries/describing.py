"""What columns the queries of a plan have, as Spark tells it. Sources and nodes are empty relations here, so Spark
looks at each part of a plan by itself, however deep the plan is, and opens no table twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sqlglot import exp

from spark_trickle.delta.plan import Column
from spark_trickle.spark.session.failures import sql_errors
from spark_trickle.sql.leaves import Leaf, SourceLeaf, StateLeaf, resolve
from spark_trickle.sql.parse import TrickleSpark
from spark_trickle.storage.iceberg import static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_trickle.spark.workspaces.workspace import Workspace


class Describing:
    """Describes queries over leaves in a workspace; what it puts there for that is removed at the end."""

    def __init__(self, workspace: Workspace) -> None:
        self._session = workspace.session
        self._views: dict[Leaf, str] = {}
        self._asked: dict[str, DataFrame] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for view in self._views.values():
            self._session.catalog.dropTempView(view)

    def describe(self, query: exp.Query) -> tuple[Column, ...]:
        """The columns of a query over sources and over nodes that were kept."""
        fields = self._frame(query).schema.fields
        return tuple(Column(field.name, field.dataType.simpleString(), field.nullable) for field in fields)

    def keep(self, leaf: StateLeaf, query: exp.Query) -> tuple[Column, ...]:
        """A node, which later queries read."""
        frame = self._frame(query)
        if leaf not in self._views:
            self._stand_in(leaf, frame)
        return self.describe(query)

    def _frame(self, query: exp.Query) -> DataFrame:
        text = resolve(query, lambda _, leaf: exp.to_table(self._view(leaf), dialect="spark")).sql(dialect=TrickleSpark)
        if text not in self._asked:
            with sql_errors("the maintenance plan"):
                self._asked[text] = self._session.sql(text)
        return self._asked[text]

    def _view(self, leaf: Leaf) -> str:
        if leaf not in self._views:
            assert isinstance(leaf, SourceLeaf)
            self._stand_in(leaf, self._session.table(leaf.table.sql))
        return self._views[leaf]

    def _stand_in(self, leaf: Leaf, frame: DataFrame) -> None:
        """A view without rows that has the columns of a frame."""
        view = f"_trickle_described_{len(self._views)}"
        nothing = static(self._session, "java.util.ArrayList")()
        empty = self._session._jsparkSession.createDataFrame(nothing, frame._jdf.schema())
        empty.createOrReplaceTempView(view)
        self._views[leaf] = view
