"""What a statement does to which tables, told by Spark's own parser; nothing is run, nothing looked up but names.

Scripts (BEGIN … END), EXECUTE IMMEDIATE and names given by IDENTIFIER(...) are looked through as far as they can be
known before they run. What the answer forbids is for `protecting` to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark_trickle.model.deed import Deed, DeedKind, Deeds
from spark_trickle.names import LAKE, TableName
from spark_trickle.spark.session.failures import spark_errors, sql_errors
from spark_trickle.spark.session.sessions import active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = Deeds()

_INSERTS = ("InsertIntoStatement", "OverwriteByExpression", "OverwritePartitionsDynamic", "AppendData")
"""Commands that have their table beside their query."""

_BY_FIRST_CHILD = {
    "UpdateTable": DeedKind.WRITE,
    "DeleteFromTable": DeedKind.WRITE,
    "MergeIntoTable": DeedKind.WRITE,
    "TruncateTable": DeedKind.WRITE,
    "TruncatePartition": DeedKind.WRITE,
    "LoadData": DeedKind.WRITE,
    "AddColumns": DeedKind.COLUMNS,
    "RenameColumn": DeedKind.COLUMNS,
    "DropColumns": DeedKind.COLUMNS,
    "AlterColumns": DeedKind.COLUMNS,
    "ReplaceColumns": DeedKind.COLUMNS,
    "AddCheckConstraint": DeedKind.LAYOUT,
    "AddConstraint": DeedKind.LAYOUT,
    "AlterTableClusterBy": DeedKind.LAYOUT,
    "SetTableLocation": DeedKind.LAYOUT,
    "SetTableProperties": DeedKind.PROPERTIES,
    "UnsetTableProperties": DeedKind.PROPERTIES,
    "RenameTable": DeedKind.RENAME,
    "DropTable": DeedKind.DROP,
    "DropView": DeedKind.DROP,
    "DropIcebergView": DeedKind.DROP,
    "ReplaceTable": DeedKind.REPLACE,
    "ReplaceTableAsSelect": DeedKind.REPLACE,
    "AlterViewAs": DeedKind.REDEFINE,
    "CreateTable": DeedKind.CREATE,
    "CreateTableAsSelect": DeedKind.CREATE,
    "CreateTableLike": DeedKind.CREATE,
    "CreateView": DeedKind.CREATE,
    "CreateIcebergView": DeedKind.CREATE,
}
"""Commands whose first child is what they work on."""

_BY_PARTS = {
    "AddPartitionField": DeedKind.LAYOUT,
    "DropPartitionField": DeedKind.LAYOUT,
    "ReplacePartitionField": DeedKind.LAYOUT,
    "SetIdentifierFields": DeedKind.LAYOUT,
    "DropIdentifierFields": DeedKind.LAYOUT,
}
"""Iceberg's own commands, which have the parts of the name themselves."""

_SCRIPTED = (
    "CompoundBody",
    "IfElseStatement",
    "WhileStatement",
    "RepeatStatement",
    "LoopStatement",
    "ForStatement",
    "SimpleCaseStatement",
    "SearchedCaseStatement",
)
_MOVING_CALLS = (
    "rollback_to_snapshot",
    "rollback_to_timestamp",
    "set_current_snapshot",
    "cherrypick_snapshot",
    "publish_changes",
    "fast_forward",
    "add_files",
)
"""Iceberg's procedures that change which rows a table has."""

_MAIN = "main"
_BRANCH = "branch_"
"""`t.branch_x` is a branch of `t`."""

OUR_PROPERTIES = "trickle."


def deeds_of(session: SparkSession, text: str) -> Deeds:
    """What one statement does; names mean what they mean in this session. SqlError: Spark cannot read it."""
    with spark_errors("reading the statement"), sql_errors("the statement"), active(session):
        return _Reader(session).of_text(text)


class _Reader:
    """Reads statements as one session would."""

    def __init__(self, session: SparkSession) -> None:
        state: Any = session._jsparkSession
        self._session = session
        self._parser = state.sessionState().sqlParser()
        self._catalogs = state.sessionState().catalogManager()

    def of_text(self, text: str) -> Deeds:
        return self._of(self._parser.parsePlan(text), scripted=False)

    def _of(self, plan: Any, *, scripted: bool) -> Deeds:
        kind = _kind(plan)
        if kind in _SCRIPTED:
            return self._of_script(plan)
        if kind == "SingleStatement":
            return self._of(plan.parsedPlan(), scripted=True)
        if kind == "UnresolvedWith":
            return self._of(plan.child(), scripted=scripted)
        if kind == "Union" and _kind(plan.children().apply(0)) in (*_INSERTS, "PlanWithUnresolvedIdentifier"):
            return self._all(plan.children(), scripted=scripted)  # FROM t INSERT INTO … INSERT INTO …
        if kind == "PlanWithUnresolvedIdentifier":
            parts = self._identifier(plan)
            return Deeds(unknown=True) if parts is None else self._of(_built(plan, parts), scripted=scripted)
        if kind == "UnresolvedExecuteImmediate":
            return self._of_immediate(plan.sqlStmtStr(), scripted=scripted)
        return self._of_command(kind, plan)

    def _of_command(self, kind: str, plan: Any) -> Deeds:
        if kind in _INSERTS:
            return self._deed(DeedKind.WRITE, plan.table())
        if kind in _BY_FIRST_CHILD:
            return self._by_first_child(kind, plan)
        if kind in _BY_PARTS:
            return self._named(_BY_PARTS[kind], plan.table())
        if kind in ("CreateOrReplaceBranch", "DropBranch"):
            return self._named(DeedKind.WRITE, plan.table()) if str(plan.branch()) == _MAIN else NOTHING
        if kind == "Call":
            return Deeds(deletes_files=True) + self._of_call(plan)
        return NOTHING

    def _by_first_child(self, kind: str, plan: Any) -> Deeds:
        does = _BY_FIRST_CHILD[kind]
        if kind == "AlterColumns" and not _moves_columns(plan):
            return NOTHING  # a comment, or the default of rows that nobody inserts
        if does is DeedKind.PROPERTIES and OUR_PROPERTIES not in str(_properties(plan)):
            return NOTHING
        if kind in ("CreateView", "CreateIcebergView") and plan.replace():
            does = DeedKind.REDEFINE
        found = self._deed(does, plan.children().apply(0))
        return found + Deeds(deletes_files=True) if kind == "DropTable" and plan.purge() else found

    def _of_script(self, plan: Any) -> Deeds:
        found = self._all(plan.children(), scripted=True)
        if _kind(plan) == "CompoundBody":
            handlers = plan.handlers()
            for place in range(handlers.length()):
                found += self._of(handlers.apply(place).body(), scripted=True)
        return found

    def _all(self, plans: Any, *, scripted: bool) -> Deeds:
        found = NOTHING
        for place in range(plans.length()):
            found += self._of(plans.apply(place), scripted=scripted)
        return found

    def _of_immediate(self, expression: Any, *, scripted: bool) -> Deeds:
        """What the text of EXECUTE IMMEDIATE does. A variable of a script has no value before the script runs."""
        try:
            if expression.resolved():
                text = _constant(expression)
            elif scripted:
                return Deeds(unknown=True)
            else:
                row = self._session.sql(f"SELECT {expression.sql()}").first()
                text = None if row is None else row[0]
            return Deeds(unknown=True) if text is None else self.of_text(str(text))
        except (PySparkException, Py4JJavaError):
            return Deeds(unknown=True)  # Spark will say what is wrong with it

    def _of_call(self, plan: Any) -> Deeds:
        procedure = str(plan.child().nameParts().last()).lower()
        if procedure not in _MOVING_CALLS:
            return NOTHING
        arguments = [plan.args().apply(place) for place in range(plan.args().length())]
        named = {str(a.key()).lower(): a.value() for a in arguments if _kind(a) == "NamedArgumentExpression"}
        table = named.get("table", arguments[0] if arguments and not named else None)
        if table is None or not table.resolved():
            return Deeds(unknown=True)
        return self._named(DeedKind.WRITE, self._parser.parseMultipartIdentifier(str(_constant(table))))

    def _deed(self, kind: DeedKind, target: Any) -> Deeds:
        """A deed done to what a plan names."""
        while _kind(target) in ("SubqueryAlias", "Filter"):
            target = target.child()
        match _kind(target):
            case "UnresolvedIdentifier":
                return self._named(kind, target.nameParts())
            case "ResolvedIdentifier":
                identifier = target.identifier()
                return self._within(kind, str(target.catalog().name()), [*identifier.namespace(), identifier.name()])
            case "PlanWithUnresolvedIdentifier":
                parts = self._identifier(target)
                return Deeds(unknown=True) if parts is None else self._named(kind, parts)
            case "UnresolvedRelation" | "UnresolvedTable" | "UnresolvedTableOrView" | "UnresolvedView":
                return self._named(kind, target.multipartIdentifier())
        return Deeds(unknown=True)

    def _named(self, kind: DeedKind, parts: Any) -> Deeds:
        """A deed done to a name as it is written: the first part may be a catalog."""
        written = [str(parts.apply(place)) for place in range(parts.length())]
        if len(written) > 1 and self._catalogs.isCatalogRegistered(written[0]):
            return self._within(kind, written[0], written[1:])
        namespace = [str(level) for level in self._catalogs.currentNamespace()] if len(written) == 1 else []
        return self._within(kind, str(self._catalogs.currentCatalog().name()), [*namespace, *written])

    def _within(self, kind: DeedKind, catalog: str, levels: list[str]) -> Deeds:
        if catalog != LAKE or len(levels) < 2:
            return NOTHING  # not a table of ours
        if kind is DeedKind.WRITE and len(levels) > 2 and levels[-1].startswith(_BRANCH):
            if levels[-1].removeprefix(_BRANCH) != _MAIN:
                return NOTHING  # what everybody reads stays as it is
            levels = levels[:-1]
        return Deeds((Deed(kind, TableName(".".join(levels[:-1]), levels[-1])),))

    def _identifier(self, plan: Any) -> Any | None:
        """The parts of a name given by IDENTIFIER(...); None: only known when it runs."""
        expression = plan.identifierExpr()
        value = _constant(expression) if expression.resolved() else None
        return None if value is None else self._parser.parseMultipartIdentifier(value)


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _constant(expression: Any) -> str | None:
    value = expression.eval(None) if expression.foldable() else None
    return None if value is None else str(value.toString())


def _built(plan: Any, parts: Any) -> Any:
    return plan.planBuilder().apply(parts, plan.children())


def _moves_columns(plan: Any) -> bool:
    """Whether ALTER COLUMN changes what a column is, not only what is said of it."""
    specs = [plan.specs().apply(place) for place in range(plan.specs().length())]
    return any(
        spec.newDataType().isDefined() or spec.newPosition().isDefined() or spec.newNullability().isDefined()
        for spec in specs
    )


def _properties(plan: Any) -> Any:
    return plan.properties().mkString(" ") if _kind(plan) == "SetTableProperties" else plan.propertyKeys().mkString(" ")
