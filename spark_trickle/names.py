"""Names of tables: parsing, quoting, comparing. One value, `TableName`, is used everywhere.

Spark compares names without regard to case and Iceberg's catalog stores them as written; a `TableName` keeps the
spelling it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spark_trickle.errors import UserError

LAKE = "lake"
"""Name of the Iceberg catalog in every Spark session of ours."""

DEFAULT_NAMESPACE = "default"
"""Namespace of names that are written without one."""

INTERNAL_NAMESPACE = "trickle_internal"
"""Namespace of the tables that hold state; nobody but the engine reads or writes them."""


def quote(identifier: str) -> str:
    """Quote one identifier for Spark SQL.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + identifier.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table of the lake: namespace and name."""

    namespace: str
    name: str

    @classmethod
    def parse(cls, text: str, default_namespace: str | Callable[[], str] = DEFAULT_NAMESPACE) -> TableName:
        """Read `name`, `namespace.name` or `lake.namespace.name`, each part quoted with backticks or not.

        A bare part may contain anything but a dot and a backtick; quote the others. A default namespace that has to be
        found out is found out only where the name has none.

        >>> TableName.parse("orders")
        TableName(namespace='default', name='orders')
        >>> TableName.parse("lake.sales.`odd.name`")
        TableName(namespace='sales', name='odd.name')
        """
        parts = _split(text)
        if len(parts) > 2 and parts[0].lower() == LAKE:
            parts = parts[1:]
        if len(parts) == 1:
            return cls(default_namespace if isinstance(default_namespace, str) else default_namespace(), parts[0])
        # Iceberg's JDBC catalog joins the levels of a nested namespace with dots.
        return cls(".".join(parts[:-1]), parts[-1])

    @property
    def sql(self) -> str:
        """The name as Spark SQL text, whole and quoted."""
        levels = [LAKE, *self.namespace.split("."), self.name]
        return ".".join(quote(level) for level in levels)

    def __str__(self) -> str:
        """The name as people write it: without the namespace when that is the default one."""
        shown = _show(self.name)
        return shown if self.namespace == DEFAULT_NAMESPACE else f"{_show(self.namespace, dots=True)}.{shown}"


def internal_name(public: TableName, label: str) -> TableName:
    """Where one piece of a stream table's state lies."""
    return TableName(INTERNAL_NAMESPACE, f"{public.namespace}__{public.name}__{label}")


def _show(part: str, *, dots: bool = False) -> str:
    plain = part.replace(".", "") if dots else part
    return part if plain.replace("_", "a").replace("-", "a").replace(" ", "a").isalnum() else quote(part)


def _split(text: str) -> list[str]:
    parts: list[str] = []
    rest = text.strip()
    while True:
        if rest.startswith("`"):
            part, rest = _quoted(text, rest)
        else:
            end = rest.find(".")
            part, rest = (rest, "") if end < 0 else (rest[:end], rest[end:])
            part = part.strip()
            if "`" in part:
                raise UserError(f"'{text}' is not a table name: a backtick in the middle of a part")
        if not part:
            raise UserError(f"'{text}' is not a table name: a part of it is empty. Write name or namespace.name")
        parts.append(part)
        if not rest:
            return parts
        if not rest.startswith("."):
            raise UserError(f"'{text}' is not a table name: '.' expected before '{rest}'")
        rest = rest[1:]


def _quoted(text: str, rest: str) -> tuple[str, str]:
    part, position = "", 1
    while position < len(rest):
        if rest[position] == "`":
            if rest[position + 1 : position + 2] == "`":
                part += "`"
                position += 2
                continue
            return part, rest[position + 1 :]
        part += rest[position]
        position += 1
    raise UserError(f"'{text}' is not a table name: a backtick is not closed")
