"""`window(ts, '5 minutes')`: windows of time as a generator.

To Spark it is no function: each row becomes one for each window that it lies in, none if its time is NULL, whether
anybody reads the windows or not. So it is read as the LATERAL VIEW that it is, whose column is called `window`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from spark_trickle.sql.functions import TIME_WINDOW, function_name
from spark_trickle.sql.parse import unsupported
from spark_trickle.sql.refusals import Refused

_SESSIONS = "session_window"
_CLAUSES = ("expressions", "group", "having", "order", "qualify", "windows")
"""Where Spark takes a window of time for a column of what the query reads."""


def with_time_windows(node: exp.Select, text: str) -> None:
    """Put the windows of a SELECT beside what it reads, and their column in their place."""
    calls = [call for call in _own(node, tuple(node.args)) if function_name(call) in (TIME_WINDOW, _SESSIONS)]
    if not calls:
        return
    sessions = next((call for call in calls if function_name(call) == _SESSIONS), None)
    if sessions is not None:
        raise unsupported(text, sessions, Refused.SESSIONS)
    here = [call for call in _own(node, _CLAUSES) if function_name(call) == TIME_WINDOW]
    stars = [star for entry in node.expressions for star in entry.find_all(exp.Star)]
    starred = any(not isinstance(star.parent, exp.Count) for star in stars)
    nested = any(call.find_ancestor(exp.Anonymous, exp.Select) in calls for call in calls)
    if len(here) < len(calls) or len(set(calls)) > 1 or starred or nested:
        raise unsupported(text, calls[0], Refused.TIME_WINDOW_PLACE)
    name = exp.TableAlias(this=exp.to_identifier("", quoted=True), columns=[exp.to_identifier(TIME_WINDOW)])
    node.append("laterals", exp.Lateral(this=calls[0].copy(), view=True, alias=name))
    for call in calls:
        call.replace(_column(call))


def _column(call: exp.Expr) -> exp.Column:
    found = exp.column(TIME_WINDOW)
    found.this.meta.update(call.meta)
    return found


def _own(node: exp.Select, clauses: tuple[str, ...]) -> Iterator[exp.Anonymous]:
    """The calls in clauses of a SELECT that are not those of a query inside."""
    for clause in clauses:
        value = node.args.get(clause)
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, exp.Expr) or isinstance(part, exp.With):
                continue
            for found in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
                if isinstance(found, exp.Anonymous):
                    yield found
