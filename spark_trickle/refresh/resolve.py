"""What an analysis of a query comes to for a stream table: its mode, its state, its sources. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spark_trickle.errors import UserError
from spark_trickle.model.stream_table import Options, RefreshMode, StreamTable
from spark_trickle.names import TableName, internal_name
from spark_trickle.ports import Analysis

_DELTA_HEADING = "\n\nchange:\n"


def resolve_mode(
    name: TableName, options: Options, analysis: Analysis
) -> tuple[RefreshMode, str | None, Iterable[str]]:
    """What the asked-for mode comes to for this query: (mode, why FULL, notices)."""
    wanted = options.refresh_mode
    if wanted is RefreshMode.FULL:
        return RefreshMode.FULL, "refresh_mode is FULL", ()
    far = next((source.table for source in analysis.sources if source.table.is_elsewhere), None)
    if wanted is RefreshMode.IMMEDIATE and far is not None:
        raise UserError(
            f"'{name}' cannot be IMMEDIATE: '{far}' is a table of catalog '{far.catalog}', where others write and a "
            "transaction of ours has no part",
            hint="Choose DIFFERENTIAL: the scheduler follows it at each tick",
            facts={"name": str(name), "mode": wanted.value, "source": str(far)},
        )
    if analysis.differential:
        return (wanted if wanted is RefreshMode.IMMEDIATE else RefreshMode.DIFFERENTIAL), None, ()
    reason = analysis.reason or "the query cannot be kept incrementally"
    if wanted is RefreshMode.AUTO and not options.strict:
        notice = f"every refresh of '{name}' recomputes the whole query (FULL): {reason}"
        return RefreshMode.FULL, reason, (notice,)
    shown = "strict" if options.strict and wanted is RefreshMode.AUTO else wanted.value
    recompute = "set refresh_mode = 'FULL' (strict = false) to recompute it each time"
    if analysis.suggestion and analysis.suggestion not in reason:
        hint = f"{analysis.suggestion}; or {recompute}"
    else:
        hint = f"Or {recompute}" if analysis.suggestion else f"S{recompute[1:]}"
    raise UserError(
        f"'{name}' cannot be {shown}: {reason}",
        hint=hint,
        facts={"name": str(name), "mode": wanted.value, "reason": reason},
    )


def redefined(table: StreamTable, analysis: Analysis) -> StreamTable:
    """The stream table with what follows from its query; contents, state and options stay as they are."""
    mode, reason, notices = resolve_mode(table.name, table.options, analysis)
    internal: tuple[TableName, ...] = ()
    if mode is not RefreshMode.FULL:
        internal = tuple(internal_name(table.name, label) for label in analysis.state)
    return replace(
        table,
        normalized_query=analysis.normalized,
        effective_mode=mode,
        mode_reason=reason,
        reads_clock=analysis.reads_clock,
        reading=analysis.reading,
        sources=analysis.sources,
        internal_tables=internal,
        explanation=explanation_text(analysis),
        notices=(*analysis.notices, *notices),
    )


def explanation_text(analysis: Analysis) -> str:
    """The plan as text, kept with the definition so that it can be shown without a JVM."""
    return f"{analysis.tree}{_DELTA_HEADING}{analysis.delta_sql}" if analysis.delta_sql else analysis.tree


def operators_and_change(explanation: str) -> tuple[str, str]:
    """The two parts of that text: operator tree, SQL of the change.

    >>> operators_and_change("Scan" + "\\n\\nchange:\\n" + "SELECT 1")
    ('Scan', 'SELECT 1')
    """
    tree, _, change = explanation.partition(_DELTA_HEADING)
    return tree, change
