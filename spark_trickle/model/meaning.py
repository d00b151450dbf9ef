"""What a query means besides its text: where its names are looked up, and the settings that decide what it answers.

It belongs to the definition of a stream table: taken from the session that defines it, as Spark does for its own views,
and the same for everybody who computes or checks it later. Only a new definition changes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_trickle.names import DEFAULT_NAMESPACE, LAKE

TIME_ZONE = "spark.sql.session.timeZone"
ANSI = "spark.sql.ansi.enabled"
CASE_SENSITIVE = "spark.sql.caseSensitive"

ALWAYS = {ANSI: "true", CASE_SENSITIVE: "false", TIME_ZONE: "UTC"}
"""Settings that every definition holds, with what sessions of ours have."""

OF_VALUES = frozenset(
    {
        ANSI,
        TIME_ZONE,
        "spark.sql.binaryOutputStyle",
        "spark.sql.cteRecursionLevelLimit",
        "spark.sql.cteRecursionRowLimit",
        "spark.sql.legacy.nullInEmptyListBehavior",
        "spark.sql.decimalOperations.allowPrecisionLoss",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.storeAssignmentPolicy",
    }
)
"""Settings that change what expressions give, the same ones in a query and in its change, and nothing else."""

OF_READING = frozenset(
    {
        "spark.sql.ansi.doubleQuotedIdentifiers",
        "spark.sql.ansi.enforceReservedKeywords",
        "spark.sql.groupByAliases",
        "spark.sql.groupByOrdinal",
        "spark.sql.legacy.ctePrecedencePolicy",
        "spark.sql.legacy.identifierClause",
        "spark.sql.legacy.parseQueryWithoutEof",
        "spark.sql.legacy.setopsPrecedence.enabled",
        "spark.sql.legacy.viewSchemaBindingMode",
        "spark.sql.legacy.viewSchemaCompensation",
        "spark.sql.orderByOrdinal",
        "spark.sql.prioritizeOrdinalResolutionInSort.enabled",
    }
)
"""Settings that decide how a text is read, and nothing after that. What the engine writes itself is read the same with
and without them; what users write mostly, too."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Where a definition was made, as far as its answer depends on it."""

    catalog: str = LAKE
    namespace: str = DEFAULT_NAMESPACE
    """Where names without a namespace are looked up."""
    settings: tuple[tuple[str, str], ...] = tuple(sorted(ALWAYS.items()))
    """Spark's settings that change what a query answers: those in `ALWAYS`, and others that were set."""

    @property
    def default_namespace(self) -> str | None:
        """The namespace of the lake in which unqualified names are; None: they are in another catalog."""
        return self.namespace if self.catalog == LAKE else None

    def unusual(self) -> list[tuple[str, str]]:
        """The settings that may change how the text of a query is read, and differ from what Spark has by itself."""
        return [(key, value) for key, value in self.settings if key not in OF_VALUES and ALWAYS.get(key) != value]

    def differs(self, other: Meaning) -> list[str]:
        """What is not the same in another meaning, in words."""
        found = []
        if (self.catalog, self.namespace) != (other.catalog, other.namespace):
            found.append(f"names are looked up in {other.catalog}.{other.namespace}")
        mine, theirs = dict(self.settings), dict(other.settings)
        for key in sorted({*mine, *theirs}):
            if mine.get(key) != theirs.get(key):
                found.append(f"{key} is {theirs.get(key, 'not set')}")
        return found

    def __str__(self) -> str:
        """For people: where names are, and the settings."""
        listed = ", ".join(f"{key.removeprefix('spark.sql.')} = {value}" for key, value in self.settings)
        return f"names in {self.catalog}.{self.namespace}; {listed}"
