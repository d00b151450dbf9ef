"""Names that a friendly generator would never draw: the engine's own words, reserved words, signs, other alphabets.

Queries are written with plain names (a letter and a number) and renamed afterwards, so that every case can also be
looked at with plain names.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from spark_trickle.names import INTERNAL_NAMESPACE, quote

OUR_WORDS = (
    "public", "groups", "delta", "target", "recomputed", "shared_1", "shared_2", "before", "after", "changes", "step",
    "state_x", "transitions", "key_range", "trickle_t", "_weight", "_trickle_side", "trickle_internal", "trickle",
    "lake", "source", "node_1", "old", "new", "l", "r", "t", "x", "s", "keys", "touched", "kept", "left_side", "rows",
    "_trickle_1", "_rn", "_count", "_sum", "_key", "_group", "weight", "changed", "removed", "added", "seed", "windows",
    "partitions", "frontier", "merge", "inserted", "deleted", "once", "range_1", "low", "high", "domain", "part", "c0",
    "t0", "a1", "default", "iceberg", "main",
)  # fmt: skip
"""What generated SQL and internal tables are named, or were, or might be."""
RESERVED = (
    "select", "from", "order", "table", "end", "values", "group", "where", "join", "on", "union", "all", "as", "by",
    "null", "true", "false", "case", "when", "with", "lateral", "using", "cross", "user", "current_date", "interval",
    "date", "timestamp", "count", "sum", "row_number", "over", "limit", "exists", "not", "in", "cast", "array",
    "struct", "value", "key", "system", "version", "current_timestamp", "grouping", "grouping_id", "filter", "pivot",
    "rollup",
)  # fmt: skip
ODD = (
    "a b", "a.b", "a`b", "a'b", 'a"b', "a-b", "a/b", "1st", "2", "ä", "Straße", "名前", "имя", "😀", "a__b", "a__b__c",
    "__", "_", "$x", "a$b", "a@b", "a:b", "a;b", "a--b", "/*a*/", "{a}", "a?b", "%s", "A", "UPPER", "Mixed_Case",
    "a\\b", "x" * 60,
)  # fmt: skip
METADATA = ("_file", "_pos", "_partition", "_spec_id", "_deleted", "_row_id", "_change_type", "_change_ordinal")
"""Iceberg's own: a table cannot have such columns, a query may use the names."""

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|\b([a-z])(\d+)\b""")


@dataclass(frozen=True)
class Naming:
    """What a plain name is called instead; names without an entry stay."""

    given: dict[str, str] = field(default_factory=dict)
    variants: bool = False
    """Is a column sometimes written in another case than it was declared?"""

    def name(self, plain: str) -> str:
        """One identifier, not quoted."""
        return self.given.get(plain, plain)

    def sql(self, text: str) -> str:
        """A text with all names put in their places."""

        def put(found: re.Match[str]) -> str:
            plain = found.group(0)
            if plain.startswith("'") or plain not in self.given:
                return plain
            parts = self.given[plain].split("\0")
            if self.variants and found.group(1) not in "tawr" and zlib.crc32(f"{found.start()}".encode()) % 5 == 0:
                parts[-1] = _other_case(parts[-1])
            return ".".join(quote(part) for part in parts)

        return _TOKEN.sub(put, text)


PLAIN = Naming()


def _other_case(name: str) -> str:
    return name.swapcase() if name.isascii() else name


def hostile(random: Random, tables: Iterable[str], columns: Iterable[str], streams: int) -> Naming:
    """Other names for tables (in other namespaces), stream tables, columns, aliases, CTEs and outputs."""
    given: dict[str, str] = {}
    # `lake.t` is a table of the catalog without a namespace, whatever namespaces there are; and one is not for users.
    reserved = ("lake", INTERNAL_NAMESPACE)
    namespaces = ["default", *random.sample([n for n in _pool() if "." not in n and n.lower() not in reserved], 2)]
    taken = _drawn(random, _pool())
    for name in (*tables, *(f"st{place}" for place in range(streams))):
        given[name] = f"{random.choice(namespaces)}\0{next(taken)}"
    taken = _drawn(random, _free())
    for name in columns:
        given[name] = next(taken)
    taken = _drawn(random, _free())
    for place in range(8):
        given[f"c{place}"] = next(taken)
    taken = _drawn(random, (*_pool(), *METADATA))
    for place in range(60):
        given[f"a{place}"] = next(taken)
    taken = _drawn(random, _pool())
    for place in range(60):
        for letter in "wre":
            given[f"{letter}{place}"] = next(taken)
    return Naming(given, variants=random.random() < 0.3)


def _free() -> list[str]:
    """For columns: those that begin as ours do are refused, with that reason."""
    return [name for name in _pool() if not name.lower().startswith("_trickle_")]


def _pool() -> tuple[str, ...]:
    return (*OUR_WORDS, *OUR_WORDS, *RESERVED, *ODD)


def _drawn(random: Random, pool: Iterable[str]) -> Iterator[str]:
    """Names without end, no two of them equal but for their case."""
    names = list(pool)
    random.shuffle(names)
    seen: set[str] = set()
    number = 0
    while True:
        for name in names:
            drawn = name if number == 0 else f"{name}{number}"
            if random.random() < 0.1:
                drawn = drawn.upper() if drawn.isascii() else drawn
            if drawn.lower() not in seen:
                seen.add(drawn.lower())
                yield drawn
        number += 1
