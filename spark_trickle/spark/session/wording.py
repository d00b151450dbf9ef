"""Spark's messages in fewer words: without advice about Spark itself, plans and traces. Spark's name of what went wrong
stays, for whoever looks it up, unless the words are ours. Pure text.

What is cut goes nowhere by itself: the error of Spark stays the cause of ours, and its condition is among our facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from spark_trickle.config import mask_url
from spark_trickle.errors import UserError
from spark_trickle.names import TableName, is_internal, similar

_MOST_LINES = 3
_MOST_CHARACTERS = 600
_MOST_SUGGESTED = 3

_CONDITION = re.compile(r"^\[(?P<condition>[A-Z][A-Z0-9_.]+)\] ")
_PLACES = re.compile(r"[;,]? ?\(?line \d+,? pos(?:ition)? \d+\)?;?", re.IGNORECASE)
_BOILERPLATE = (
    re.compile(r"\bSQLSTATE: [0-9A-Z]{5}\b[.;]?"),
    re.compile(r"Verify the spelling and correctness of the (?:schema and catalog|\w+)\.\s*"),
    re.compile(r"If you did not qualify the name with .*?(?:schema and catalog|catalog|schema)\.\s*"),
    re.compile(r"To tolerate the error on drop use DROP .*? IF EXISTS\.\s*"),
    re.compile(r"If necessary set \"?spark\.\S+ to \S+ to bypass this error\.?\s*"),
    re.compile(r"Please, fix `?args`? and provide .*?(?:\.|$)\s*"),
)
_REWORDED = (
    (
        re.compile(r"A column, variable, or function parameter with name (`.*`) cannot be resolved\."),
        r"there is no column \1.",
    ),
    (re.compile(r"The table or view (`.*`) cannot be found\."), r"the table or view \1 does not exist."),
    (re.compile(r"Syntax error at or near"), "Syntax error at or near"),
    (re.compile(r"Cannot resolve routine (`.*?`) on search path \[.*?\]\."), r"there is no function \1."),
)
_ONE_OF = re.compile(r"Did you mean one of the following\? \[(?P<names>`.*`)\]\.?")


def condition_in(text: str) -> str | None:
    """Spark's name of what went wrong, if it says one.

    >>> condition_in("[DIVIDE_BY_ZERO] Division by zero.")
    'DIVIDE_BY_ZERO'
    """
    found = _CONDITION.match(text.strip())
    return None if found is None else found["condition"]


def in_short(text: str) -> str:
    """The part of a Spark message that a person can use: no plan, no JVM trace.

    >>> in_short("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n== SQL (line 1, position 8) ==\\nSELECT 1/0")
    '[DIVIDE_BY_ZERO] Division by zero.'
    """
    kept = []
    for line in text.strip().splitlines():
        if line.startswith(("\tat ", "'", "==", "+-")) or "JVM stacktrace" in line:
            break
        kept.append(line.strip())
        if len(kept) == _MOST_LINES:
            break
    said = " ".join(part for part in kept if part)
    for pattern, ours in _REWORDED:
        if pattern.search(said):
            said = pattern.sub(ours, _CONDITION.sub("", said))
    said = _ONE_OF.sub(_suggested, said)
    for pattern in (*_BOILERPLATE, _PLACES):
        said = pattern.sub("", said)
    # A catalog's address may be in it, with all that is needed to open it.
    said = mask_url(said)
    said = re.sub(r"\s+([.,;:])", r"\1", re.sub(r"\s{2,}", " ", said)).strip(" ;")
    return said if len(said) <= _MOST_CHARACTERS else f"{said[:_MOST_CHARACTERS].rstrip()} ..."


def tables_meant(relation: str, known: Iterable[TableName]) -> str | None:
    """The hint for a table that does not exist: which ones are called much like it.

    >>> tables_meant("`ordrs`", [TableName("default", "orders")])
    "Did you mean 'orders'?"
    """
    try:
        wanted = TableName.parse(relation)
    except UserError:
        return None
    others = {str(name): name for name in known if not is_internal(name)}
    near = similar(str(wanted), others) or [
        shown for shown, name in sorted(others.items()) if name.name.lower() == wanted.name.lower()
    ]
    return f"Did you mean {' or '.join(repr(each) for each in near[:_MOST_SUGGESTED])}?" if near else None


def _suggested(found: re.Match[str]) -> str:
    # Spark lists the likeliest first, and goes on to those that are not likely at all.
    names = re.findall(r"`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*", found["names"])[:_MOST_SUGGESTED]
    return f"Did you mean {' or '.join(names)}?"
