"""Our SQL statements, carried out: each is a call of the Python surface, whose answer becomes a DataFrame."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from spark_trickle.errors import NotFoundError, UserError
from spark_trickle.sql.statements import (
    AlterStreamTable,
    Call,
    CreateStreamTable,
    CreateStreamTables,
    DropStreamTable,
    ExplainStreamTable,
    RefreshStreamTable,
    ShowStreamTables,
    Statement,
)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Calls by name. A method that gives plain values is callable from SQL."""

    calls: Mapping[str, Callable[..., Any]]

    def run(self, statement: Statement) -> object:
        match statement:
            case CreateStreamTable():
                return self._create(statement)
            case CreateStreamTables():
                self._checked("create_stream_tables", (statement.queries,), dict(statement.options))
                return [self.calls["status"](name) for name in statement.queries]
            case AlterStreamTable():
                changes = {**statement.options, **({} if statement.query is None else {"query": statement.query})}
                self.calls["alter_stream_table"](statement.name, **changes)
                return self.calls["status"](statement.name)
            case RefreshStreamTable():
                if len(statement.names) == 1:
                    return self.calls["refresh_stream_table"](statement.names[0])
                return self.calls["refresh_stream_tables"](list(statement.names))
            case DropStreamTable():
                return self._drop(statement)
            case ExplainStreamTable():
                return str(self.calls["explain"](statement.name))
            case ShowStreamTables():
                return self.calls["status"]()
            case Call():
                return self._call(statement)
        assert_never(statement)

    def _create(self, statement: CreateStreamTable) -> object:
        name = "create_stream_table"
        if statement.or_replace:
            name = "create_or_replace_stream_table"
        elif statement.if_not_exists:
            name = "create_stream_table_if_not_exists"
        self._checked(name, (statement.name, statement.query), dict(statement.options))
        return self.calls["status"](statement.name)

    def _drop(self, statement: DropStreamTable) -> object:
        try:
            return self.calls["drop_stream_table"](statement.name, cascade=statement.cascade)
        except NotFoundError:
            if statement.if_exists:
                return None
            raise

    def _call(self, statement: Call) -> object:
        if statement.function not in self.calls:
            listed = ", ".join(sorted(self.calls))
            raise NotFoundError("procedure", f"trickle.{statement.function}", hint=f"There are: {listed}")
        return self._checked(statement.function, statement.args, dict(statement.kwargs))

    def _checked(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        function = self.calls[name]
        signature = inspect.signature(function)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as err:
            shown = ", ".join(p.name for p in signature.parameters.values())
            raise UserError(f"trickle.{name}: {err}", hint=f"Its arguments are: {shown}") from err
        return function(*args, **kwargs)
