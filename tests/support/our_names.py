"""Every name that the engine uses itself, as names of users' tables and columns; and queries of all kinds over three
tables of such names, with what happens to them.
"""

from __future__ import annotations

STEPS = ("delta", "target", "groups", "recomputed", "transitions", "settled", "shared_1", "row", "change", "rewritten")
VERSIONS = ("before", "after", "changes", "step")
LABELS = ("public", "internal", "internal:public", "state_1f", "key_range", "source", "lake")
ALIASES = ("q1", "qq1", "_trickle_t", "_trickle_s", "_trickle_x", "_trickle_r", "trickle_t", "trickle_s", "trickle_d")
VIEWS = ("trickle_changes_0", "trickle_before_1", "trickle_delta_public", "trickle_verify_query", "trickle_k")
LEAVES = (*STEPS, *VERSIONS, *LABELS)
TABLES = (*LEAVES, *ALIASES, *VIEWS)

KINDS = {
    "aggregates of joins": (
        "SELECT x.id, x.best, y.n FROM "
        "(SELECT {a}.id, MAX({b}.v) AS best FROM {a} JOIN {b} ON {b}.id = {a}.id GROUP BY {a}.id) x JOIN "
        "(SELECT {a}.id, COUNT(*) AS n FROM {a} JOIN {c} ON {c}.id = {a}.id GROUP BY {a}.id) y ON x.id = y.id"
    ),
    "outer join": (
        "SELECT {a}.id, {a}.v, {b}.v AS w, {c}.v AS u FROM {a} LEFT JOIN {b} ON {a}.id = {b}.id "
        "FULL JOIN {c} ON {b}.id = {c}.id"
    ),
    "window": (
        "SELECT {a}.id, {b}.v, ROW_NUMBER() OVER (PARTITION BY {a}.id ORDER BY {b}.v, {a}.v) AS place "
        "FROM {a} JOIN {b} ON {a}.id = {b}.id WHERE {a}.id NOT IN (SELECT {c}.v FROM {c} WHERE {c}.v IS NOT NULL)"
    ),
    "distinct": "SELECT DISTINCT {a}.id, {b}.v FROM {a} JOIN {b} ON {a}.id = {b}.id UNION SELECT id, v FROM {c}",
    "limit": (
        "SELECT {a}.id, SUM({b}.v) AS s FROM {a} JOIN {b} ON {a}.id = {b}.id JOIN {c} ON {c}.id = {b}.id "
        "GROUP BY {a}.id ORDER BY s DESC, id LIMIT 2"
    ),
    "common table expressions": (
        "WITH {c} AS (SELECT id, MAX(v) AS v FROM {a} GROUP BY id), q2 AS (SELECT id, v FROM {c}) "
        "SELECT {b}.id, q2.v, COUNT(*) AS n FROM {b} JOIN q2 ON {b}.id = q2.id "
        "WHERE EXISTS (SELECT 1 FROM {c} WHERE {c}.id = {b}.id AND {c}.v > 1) GROUP BY {b}.id, q2.v"
    ),
}
"""Queries over tables {a}, {b}, {c} with columns id and v."""

FIRST = {"a": ((1, 3), (4, 1)), "b": ((1, 10), (1, 5), (2, 7)), "c": ((1, 0), (2, 0))}
WINDOWS = (
    ("INSERT INTO {a} VALUES (2, 2)", "DELETE FROM {b} WHERE v = 10", "INSERT INTO {c} VALUES (2, 4)"),
    ("UPDATE {a} SET id = id + 1", "INSERT INTO {b} VALUES (3, 1), (3, 9), (5, 2)", "DELETE FROM {c} WHERE v = 0"),
    ("DELETE FROM {a}", "DELETE FROM {b} WHERE id = 1", "INSERT INTO {c} VALUES (3, 1), (2, NULL)"),
    ("INSERT INTO {a} VALUES (3, 3), (2, 2), (2, 2)", "UPDATE {b} SET v = v - 1", "UPDATE {c} SET id = 3 WHERE v = 4"),
)


def cases(names: tuple[str, ...]) -> list[tuple[str, tuple[str, str, str]]]:
    """Each name is first, second and third once, in queries of three kinds."""
    kinds = tuple(KINDS)
    return [(kinds[i % len(kinds)], (names[i - 2], names[i - 1], names[i])) for i in range(len(names))]
