"""What cannot be kept incrementally, why, and what to write instead that can. The only place where such
messages are worded; `docs/sql.md` lists them. Words in braces are filled in where a construct is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spark_trickle.errors import UnsupportedSqlError


@dataclass(frozen=True, slots=True)
class Refusal:
    """One construct without a rule."""

    construct: str
    why: str
    rewrite: str
    """What to write instead; it is kept incrementally."""


class Refused(Enum):
    """All of them, by name."""

    # The select list and expressions
    FIELD_LEFT_OUT = Refusal(
        "* EXCEPT ({name})",
        "no field of a struct would stay, or its fields are not known here",
        "Leave the whole column out, and put the other fields together with named_struct(...)",
    )
    STAR_REPLACE = Refusal("* REPLACE", "Spark does not have it", "Name the columns")
    UNKNOWN_FIELDS = Refusal("{name}.*", "its fields are not known here", "Name the fields")
    STAR_IN_EXPRESSION = Refusal("* in an expression", "it stands for several columns", "Name the columns")
    PARAMETER = Refusal("a parameter", "a stored query has none", "Write the value")
    ALL_SUBQUERY = Refusal(
        "ALL (subquery)", "Spark does not have it", "Compare with a scalar subquery: (SELECT max(...) ...)"
    )
    TRANSFORM = Refusal(
        "TRANSFORM with a script",
        "what a script answers is not known to depend on its rows alone",
        "Write it with SQL functions, or run it when the rows are written to the source",
    )
    OTHER_TYPE = Refusal(
        "column '{name}'", "it would have the type {found} instead of {wanted}", "Put CAST(... AS {wanted}) around it"
    )

    SETTING = Refusal(
        "a query that was defined with {name} = {value}",
        "the setting changes how text is read, and the incremental planner reads it as Spark does without",
        "RESET {name}, and define it again (alter_stream_table(..., query=...))",
    )
    STATE_TYPE = Refusal(
        "column '{name}' of type {kind}",
        "it would have to be kept between refreshes, and Iceberg cannot hold it",
        "Put CAST(... AS STRING) around it",
    )
    MAP_KEY = Refusal(
        "'{name}', a map, as what rows are told apart by",
        "Spark cannot compare maps with those that were kept",
        "Put to_json(...) or array_sort(map_entries(...)) around it",
    )
    COLLATED_KEY = Refusal(
        "'{name}', a collated text, as what rows are told apart by",
        "texts that differ are equal to it, and which of them stands for all is open",
        "Put lower(...) or upper(...) around it instead of COLLATE",
    )

    # FROM
    SAMPLE = Refusal(
        "TABLESAMPLE", "which rows it takes is random", "Filter on a column instead: WHERE pmod(hash(id), 10) = 0"
    )
    TIME_TRAVEL = Refusal(
        "time travel", "a stream table follows its sources", "Leave the version out, or copy that version to a table"
    )
    JOIN_KIND = Refusal("{name} JOIN", "Spark does not have it", "Turn the sides around")
    SUBQUERY_ABOUT_PAIRS = Refusal(
        "a subquery about both sides in ON of this join",
        "it would be another one for each pair of rows",
        "Compute it for one side in a subquery in FROM",
    )
    LATERAL_JOIN = Refusal(
        "this join with LATERAL", "Spark has inner and left ones", "Write JOIN LATERAL or LEFT JOIN LATERAL, with ON"
    )
    LATERAL_SUBQUERY_IN_ON = Refusal(
        "a subquery in ON of LEFT JOIN LATERAL",
        "it decides about partners that are found row by row",
        "Put the condition in WHERE inside LATERAL, and write ON true",
    )
    UNNEST = Refusal("UNNEST", "Spark does not have it", "Write explode(...), after a comma LATERAL explode(...)")
    FROM_ENTRY = Refusal(
        "{name} in FROM", "there is no rule for it", "Put it in a subquery; at the start of FROM leave LATERAL out"
    )
    QUERY_FORM = Refusal("{name} as a query", "there is no rule for it", "Write SELECT ... FROM ...")
    CLAUSE = Refusal("{name}", "there is no rule for it", "Leave it out")
    RESERVED_NAME = Refusal(
        "a column called {name}",
        "names that begin with '_trickle_' are those of the columns that keep changes",
        "Give it another name",
    )

    # Functions that make rows
    TABLE_FUNCTION = Refusal(
        "table function {name}",
        "what rows it makes is not known to depend on its arguments alone",
        "Use explode, inline, stack, json_tuple or range; or put its rows in a table",
    )
    GENERATOR_NAMES = Refusal(
        "{name} without names", "how many columns it makes is not known here", "Name them: {name}(...) AS (a, b)"
    )
    GENERATOR_CONDITION = Refusal(
        "{join} LATERAL {name} with a condition",
        "a row stays when none of the rows made of it fits",
        "Filter the array instead: LEFT JOIN LATERAL explode(filter(...)) ON true",
    )
    GENERATOR_WITHOUT_ON = Refusal(
        "LEFT JOIN LATERAL {name} without ON",
        "Spark loses the rows that it should keep",
        "Write ON true after it, or LATERAL VIEW OUTER",
    )
    RANGE_BOUNDS = Refusal("range", "only whole numbers as bounds have a rule", "Write the numbers themselves")
    RANGE_SIZE = Refusal("range", "it makes more than {most} rows", "Make a table of the numbers")

    SESSIONS = Refusal(
        "session_window",
        "a row may join two sessions into one, so it is no value of a row",
        "Use window(...); or tell sessions apart by LAG(...) OVER (PARTITION BY ... ORDER BY ...) in a subquery",
    )
    TIME_WINDOW_PLACE = Refusal(
        "this use of window(...)",
        "it makes rows, and stands beside *, beside another window, inside one, or in WHERE or ON",
        "Write SELECT ..., window(...) AS w in a subquery in FROM, naming the columns",
    )

    # PIVOT
    PIVOT_FORM = Refusal("this PIVOT", "it has several lists of values", "Write FOR (a, b) IN ((1, 2), ...)")
    PIVOT_TYPE = Refusal(
        "this PIVOT",
        "whether a value without rows gives NULL depends on a type that is not known here",
        "Write the aggregates as agg(...) FILTER (WHERE column = value), or cast their argument",
    )
    PIVOT_AFTER_JOINS = Refusal(
        "PIVOT after a join without ON",
        "whether it turns the join or its last table is not told apart here",
        "Put what it turns in a subquery: FROM (SELECT ...) PIVOT ...",
    )

    # Order and number of rows
    LIMIT_WITHOUT_ORDER = Refusal(
        "{keyword} without ORDER BY",
        "which rows it leaves is open",
        "Add ORDER BY: with an order it is kept incrementally",
    )
    LIMIT_OF_PARTS = Refusal(
        "{keyword} without ORDER BY",
        "{clause} BY orders parts of the rows only, so which ones it leaves is open",
        "Add ORDER BY: with an order it is kept incrementally",
    )
    LIMIT_VALUE = Refusal("{keyword} {value}", "it is not a plain number", "Write the number")
    FETCH = Refusal("FETCH", "Spark does not have it", "Write LIMIT")
    ORDER_SUBQUERY = Refusal(
        "a subquery in ORDER BY",
        "only output columns can be ordered by here",
        "Compute its value in a subquery in FROM, and order by that column",
    )
    TIES_WITHOUT_ORDER = Refusal(
        "{name}",
        "column '{by}' has the type {kind}, which cannot be compared, and is needed to tell rows apart",
        "Leave it out, or order by columns that tell all rows apart",
    )

    # Aggregates and window functions
    UNORDERED_VALUE = Refusal(
        "{name} of a map or a variant",
        "several answers are right, and values that are or hold maps or variants have no order to choose by",
        "Put to_json(...) around the value, or aggregate the keys and values one by one",
    )
    VALUE_OF_NOTHING = Refusal(
        "{name} in a correlated subquery",
        "over no rows it is not NULL",
        "Group by the compared columns in a subquery in FROM, and LEFT JOIN that",
    )
    USER_AGGREGATE = Refusal(
        "a user-defined aggregate",
        "whether it depends on the order of rows is not known",
        "Use Spark's own aggregates; aggregate(collect_list(...), ...) folds values with a function of yours",
    )
    WINDOW_FUNCTION = Refusal(
        "{name} OVER", "there is no rule for this window function", "Use Spark's own window functions and aggregates"
    )
    WINDOW_PEERS = Refusal(
        "{name} over a RANGE of rows",
        "rows that tie belong to it in no order",
        "Write a frame of ROWS, such as ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    )

    # WITH RECURSIVE
    RECURSIVE_UNION = Refusal(
        "UNION in WITH RECURSIVE",
        "only what was found last is remembered, not what was found at all",
        "Write UNION ALL, and SELECT DISTINCT where the result is read",
    )
    RECURSIVE_CUT = Refusal(
        "{clause} in WITH RECURSIVE",
        "it would cut a recursion that has not ended",
        "End it with WHERE in the step; order and cut where the result is read",
    )
    CORRELATED_RECURSION = Refusal(
        "a correlated recursion",
        "it is another one for each outer row",
        "Start one recursion from all outer rows, carry their key in a column, and join on it",
    )


def refused(what: Refused, *, line: int | None = None, column: int | None = None, **said: str) -> UnsupportedSqlError:
    """The error for a construct, with its braces filled.

    >>> str(refused(Refused.LIMIT_VALUE, line=1, column=8, keyword="LIMIT", value="x"))
    'LIMIT x cannot be kept incrementally: it is not a plain number (line 1, column 8). Write the number'
    """
    entry = what.value
    return UnsupportedSqlError(
        entry.construct.format(**said),
        entry.why.format(**said),
        hint=entry.rewrite.format(**said),
        line=line,
        column=column,
        refusal=what.name,
    )
