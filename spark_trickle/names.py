"""Names of tables: parsing, quoting, comparing. One value, `TableName`, is used everywhere.

Iceberg's catalog compares names of tables as they are written, and so do we: a `TableName` keeps the spelling it was
given. Where a name is not found, one that differs by case only is pointed out.

A table of another catalog than `lake` is a `TableName`, too: its namespace says so, in a way that no namespace of ours
can (`TableName.elsewhere`). Whoever only compares, keeps or shows names need not know.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from spark_trickle.errors import LISTED, NotFoundError, UserError

LAKE = "lake"
"""Name of the Iceberg catalog in every Spark session of ours."""

DEFAULT_NAMESPACE = "default"
"""Namespace of names that are written without one."""

SESSION = "spark_catalog"
"""Spark's own catalog."""

BY_PLACE = ("delta", "parquet", "orc", "csv", "json", "text")
"""What tables are called that are named by their folders, as in delta.`/data/orders`."""

_PLACE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")

LONGEST = 255
"""Characters that the catalog keeps of a name."""

_ELSEWHERE = "\x1f"
"""Begins the namespace of a table of another catalog, and separates its levels, which may contain anything else: it is
what Iceberg separates levels by where names travel.
"""

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
    """A table: namespace and name."""

    namespace: str
    name: str

    @classmethod
    def parse(
        cls,
        text: str,
        default_namespace: str | Callable[[], str] = DEFAULT_NAMESPACE,
        catalogs: Collection[str] = (),
    ) -> TableName:
        """Read `name`, `namespace.name` or `lake.namespace.name`, each part quoted with backticks or not.

        A bare part may contain anything but a dot and a backtick; quote the others. A default namespace that has to be
        found out is found out only where the name has none. A name that begins with one of the other `catalogs` is of
        that catalog, as Spark reads it.

        >>> TableName.parse("orders")
        TableName(namespace='default', name='orders')
        >>> TableName.parse("lake.sales.`odd.name`")
        TableName(namespace='sales', name='odd.name')
        """
        parts = _split(text)
        far = named_elsewhere(parts, catalogs)
        if far is not None:
            return far
        if len(parts) > 2 and parts[0].lower() == LAKE:
            parts = parts[1:]
        if len(parts) == 1:
            return cls(default_namespace if isinstance(default_namespace, str) else default_namespace(), parts[0])
        # Iceberg's JDBC catalog joins the levels of a nested namespace with dots.
        return cls(".".join(parts[:-1]), parts[-1])

    @classmethod
    def elsewhere(cls, catalog: str, levels: Sequence[str], name: str) -> TableName:
        """A table of another catalog.

        >>> str(TableName.elsewhere("prod", ["sales", "eu.west"], "orders"))
        'prod.sales.`eu.west`.orders'
        """
        return cls(_ELSEWHERE + _ELSEWHERE.join([catalog, *levels]), name)

    @property
    def catalog(self) -> str:
        return self.namespace[1:].split(_ELSEWHERE)[0] if self.is_elsewhere else LAKE

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is a table of another catalog than the lake."""
        return self.namespace.startswith(_ELSEWHERE)

    @property
    def levels(self) -> list[str]:
        """The levels of its namespace."""
        return self.namespace[1:].split(_ELSEWHERE)[1:] if self.is_elsewhere else self.namespace.split(".")

    @property
    def schema(self) -> str:
        """The namespace as it is shown, with its catalog where that is another one."""
        if not self.is_elsewhere:
            return self.namespace
        return ".".join(_show(level) for level in (self.catalog, *self.levels))

    @property
    def sql(self) -> str:
        """The name as Spark SQL text, whole and quoted."""
        return ".".join(quote(level) for level in (self.catalog, *self.levels, self.name))

    def __str__(self) -> str:
        """The name as people write it: without the namespace when that is the default one."""
        shown = _show(self.name)
        if self.is_elsewhere:
            return f"{self.schema}.{shown}"
        return shown if self.namespace == DEFAULT_NAMESPACE else f"{_show(self.namespace, dots=True)}.{shown}"


def named_elsewhere(parts: Sequence[str], catalogs: Collection[str]) -> TableName | None:
    """The table of another catalog that the parts of a name mean; None: they mean one of the lake.

    Spark's own catalog is always there, and so are tables that are named by the folder that they lie in.

    >>> str(named_elsewhere(["delta", "/data/orders"], ()))
    'delta.`/data/orders`'
    """
    if len(parts) == 2 and parts[0].lower() in BY_PLACE and _PLACE.match(parts[1]):
        return TableName.elsewhere(parts[0].lower(), (), parts[1])
    if len(parts) > 1 and parts[0] in catalogs:
        return TableName.elsewhere(parts[0], parts[1:-1], parts[-1])
    if len(parts) > 2 and parts[0].lower() == SESSION:
        return TableName.elsewhere(SESSION, parts[1:-1], parts[-1])
    return None


def internal_name(public: TableName, label: str) -> TableName:
    """Where one piece of a stream table's state lies. No two stream tables have it at the same place, however their
    names are spelled; it is a folder, too, so it is short and plain.
    """
    whose = hashlib.sha256(json.dumps([public.namespace, public.name]).encode()).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9]+", "_", public.name)[:40].strip("_") or "table"
    return TableName(INTERNAL_NAMESPACE, f"{readable}_{whose}__{label}")


def is_internal(table: TableName) -> bool:
    """Whether a table lies where nobody but the engine has tables."""
    return table.namespace.lower() == INTERNAL_NAMESPACE


def no_stream_table(name: TableName, known: Iterable[TableName]) -> NotFoundError:
    """The error for a name that no stream table has."""
    names = list(known)
    other = other_spelling(name, names)
    if other is not None:
        hint = f"There is '{other}': write it as it was created, upper and lower case count"
    elif near := similar(str(name), map(str, names)):
        hint = f"Did you mean {' or '.join(repr(each) for each in near)}? {LISTED}"
    else:
        hint = LISTED
    return NotFoundError("stream table", name, hint=hint)


def similar(name: str, known: Iterable[str]) -> list[str]:
    """Those that somebody may have meant, the likeliest first.

    >>> similar("order_total", ["order_totals", "customers"])
    ['order_totals']
    """
    return difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.75)


def other_spelling(name: TableName, known: Iterable[TableName]) -> TableName | None:
    """One of these names that differs from a name by case only."""
    wanted = (name.namespace.lower(), name.name.lower())
    return next(
        (each for each in known if each != name and (each.namespace.lower(), each.name.lower()) == wanted), None
    )


def _show(part: str, *, dots: bool = False) -> str:
    plain = part.replace(".", "") if dots else part
    return part if plain.replace("_", "a").replace("-", "a").replace(" ", "a").isalnum() else quote(part)


def require_storable(name: str, what: str) -> None:
    """UserError: not all databases that a catalog can be in could keep this name."""
    if len(name) > LONGEST:
        raise UserError(f"'{name[:20]}...' is not {what}: it has {len(name)} characters", hint=f"At most {LONGEST}")
    _require_text(name, what)


def _require_text(name: str, what: str) -> None:
    if "\0" in name or (not name.isascii() and any("\ud800" <= each <= "\udfff" for each in name)):
        raise UserError(f"{name!r} is not {what}: it has a character that no text has", hint="Write another")


def _split(text: str) -> list[str]:
    if not isinstance(text, str):
        raise UserError(f"{text!r} is not a table name", hint="Write name or namespace.name, as text")
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
        _require_text(part, "a table name")
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
