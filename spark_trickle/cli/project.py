"""A folder of .sql files as a declaration: what it says, in which order it can be made, and what would change.

Pure but for reading the files. Only statements that can be run again without harm are accepted: stream tables, and
tables, views and namespaces that are created unless they exist. Carrying a plan out is the command's.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

from spark_trickle.cli.session import read_text
from spark_trickle.errors import SqlError, UserError
from spark_trickle.graph.dag import Dag
from spark_trickle.model.stream_table import Options, StreamTable
from spark_trickle.names import TableName
from spark_trickle.sql.lexer import Kind, Token, tokens
from spark_trickle.sql.statements import CreateStreamTable, Value, parse_statement, split_statements


class ChangeKind(StrEnum):
    CREATE = "create"
    ALTER = "alter"
    UNCHANGED = "unchanged"
    RUN = "run"
    """Spark SQL that is harmless to repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One statement of the folder."""

    file: str
    line: int
    text: str
    makes: TableName | None
    """The table, view or stream table; None for a namespace."""
    stream_table: CreateStreamTable | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of the plan."""

    kind: ChangeKind
    name: str
    detail: str
    file: str
    line: int


_REPEATABLE = (
    "CREATE TABLE IF NOT EXISTS",
    "CREATE OR REPLACE VIEW",
    "CREATE VIEW IF NOT EXISTS",
    "CREATE NAMESPACE IF NOT EXISTS",
    "CREATE SCHEMA IF NOT EXISTS",
    "CREATE DATABASE IF NOT EXISTS",
)


def read_project(folder: Path) -> tuple[Declared, ...]:
    """All statements of a folder's .sql files (also in folders below), each after those it reads."""
    paths = sorted(folder.rglob("*.sql"))
    if not paths:
        raise UserError(f"there are no .sql files in '{folder}'")
    found: list[Declared] = []
    for path in paths:
        file = path.relative_to(folder).as_posix()
        for text, line in _statements(file, read_text(path)):
            found.append(_declared(file, line, text))
    _refuse_duplicates(found)
    return tuple(in_order(found))


def circles(declared: Sequence[Declared]) -> list[frozenset[TableName]]:
    """Stream tables whose statements mention each other: they are made together."""
    streams = {_key(item.makes): item.makes for item in declared if item.stream_table is not None and item.makes}
    mentions = {
        item.makes: [streams[name] for name in _mentioned(item.text) if name in streams]
        for item in declared
        if item.stream_table is not None and item.makes
    }
    return [frozenset(circle) for circle in Dag(mentions).circles() if len(circle) > 1]


def in_order(declared: Sequence[Declared]) -> list[Declared]:
    """As written, but each statement after those whose names it mentions.

    A mention is a word, not proof of a reference: an edge too many only delays. Statements that mention each other in a
    circle stay as written.
    """
    makers = {_key(item.makes): i for i, item in enumerate(declared) if item.makes is not None}
    rings = {_key(name): {_key(other) for other in circle} for circle in circles(declared) for name in circle}
    waits = [
        {makers[name] for name in _mentioned(item.text) - rings.get(_key(item.makes), set()) if name in makers} - {i}
        for i, item in enumerate(declared)
    ]
    followers: list[list[int]] = [[] for _ in declared]
    for i, needed in enumerate(waits):
        for j in needed:
            followers[j].append(i)
    missing = [len(needed) for needed in waits]
    ready = [i for i, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for follower in followers[i]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(ready, follower)
    placed = set(order)
    return [declared[i] for i in [*order, *(i for i in range(len(declared)) if i not in placed)]]


def complete(options: Mapping[str, Value], defaults: Options) -> dict[str, Value]:
    """Options of a declaration: what it does not say means the default, whatever was set before."""
    return {option.name: options.get(option.name, getattr(defaults, option.name)) for option in fields(Options)}


def plan_changes(
    declared: Sequence[Declared], existing: Mapping[TableName, StreamTable], defaults: Options
) -> tuple[Change, ...]:
    """What making the declaration true would change."""
    tables = {_key(name): table for name, table in existing.items()}
    plan = []
    for item in declared:
        if item.stream_table is None:
            kind, detail = ChangeKind.RUN, " ".join(item.text.split())[:60]
        elif (table := tables.get(_key(item.makes))) is None:
            kind, detail = ChangeKind.CREATE, ""
        else:
            differences = _differences(item.stream_table, table, defaults)
            kind = ChangeKind.ALTER if differences else ChangeKind.UNCHANGED
            detail = ", ".join(differences)
        name = str(item.makes) if item.makes is not None else ""
        plan.append(Change(kind=kind, name=name, detail=detail, file=item.file, line=item.line))
    return tuple(plan)


def _differences(declared: CreateStreamTable, table: StreamTable, defaults: Options) -> list[str]:
    """What differs, in words."""
    # Not at the top: sqlglot is slow to import, and most commands do without.
    from spark_trickle.sql.normalize import normalized

    found = [] if normalized(declared.query) == table.normalized_query else ["query"]
    for name, wanted in complete(declared.options, defaults).items():
        current = getattr(table.options, name)
        if str(wanted).lower() != str(current).lower():
            found.append(f"{name} {current} -> {wanted}")
    return found


def _statements(file: str, script: str) -> list[tuple[str, int]]:
    try:
        return split_statements(script)
    except SqlError as err:
        raise UserError(f"{file}: {err}", facts={"file": file, **err.facts}) from err


def _declared(file: str, line: int, text: str) -> Declared:
    try:
        statement = parse_statement(text)
    except SqlError as err:
        # The place in the message counts from the statement; the file's line is what an editor can go to.
        at = line + (err.line or 1) - 1
        raise UserError(f"{file}:{at}: {err}", facts={**err.facts, "file": file, "line": at}) from err
    if isinstance(statement, CreateStreamTable):
        makes = TableName.parse(statement.name)
        return Declared(file=file, line=line, text=text, makes=makes, stream_table=statement)
    words = [token for token in tokens(text) if token.kind is not Kind.END]
    opening = next((o for o in _REPEATABLE if [t.word for t in words[: len(o.split())]] == o.split()), None)
    if opening is None:
        raise UserError(
            f"{file}:{line}: '{' '.join(text.split())[:40]}' cannot be part of a project: it might not be repeatable",
            hint=f"Use CREATE STREAM TABLE, {', '.join(_REPEATABLE[:3])}; run other statements with 'trickle sql'",
            facts={"file": file, "line": line},
        )
    return Declared(file=file, line=line, text=text, makes=_made_by(words, opening), stream_table=None)


def _made_by(words: Sequence[Token], opening: str) -> TableName | None:
    if "TABLE" not in opening and "VIEW" not in opening:
        return None
    parts: list[str] = []
    for token in words[len(opening.split()) :]:
        expected_dot = len(parts) % 2 == 1
        if expected_dot != (token.text == "."):
            break
        parts.append(token.text)
    return TableName.parse("".join(parts)) if parts else None


def _refuse_duplicates(declared: Sequence[Declared]) -> None:
    seen: dict[str, Declared] = {}
    for item in declared:
        if item.makes is None:
            continue
        first = seen.setdefault(_key(item.makes), item)
        if first is not item:
            raise UserError(
                f"'{item.makes}' is declared twice: {first.file}:{first.line} and {item.file}:{item.line}",
                facts={"name": str(item.makes)},
            )


def _mentioned(text: str) -> set[str]:
    """Keys of every table name that the text could mean."""
    found: set[str] = set()
    chain: list[str] = []
    for token in tokens(text):
        is_part = token.kind in (Kind.WORD, Kind.QUOTED)
        if is_part and (len(chain) % 2 == 0):
            chain.append(token.text)
        elif token.text == "." and len(chain) % 2 == 1:
            chain.append(".")
        else:
            found |= _keys_of(chain)
            chain = [token.text] if is_part else []
    return found | _keys_of(chain)


def _keys_of(chain: Sequence[str]) -> set[str]:
    parts = [part for part in chain if part != "."]
    if not parts or any(part == "``" for part in parts):
        return set()
    return {_key(TableName.parse(".".join(parts)))}


def _key(name: TableName | None) -> str:
    """Spark compares names without regard to case."""
    return "" if name is None else f"{name.namespace}\0{name.name}".lower()
