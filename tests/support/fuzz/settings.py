"""The settings of a Spark session that change what a query means, each with a query that shows it over `SAMPLE`.

A stream table means what its query meant when it was made, whatever the session that refreshes it has set since.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

SAMPLE = (
    "CREATE TABLE sample (id INT, word STRING, moment TIMESTAMP, amount DECIMAL(38,18), day STRING, list ARRAY<INT>, "
    "`Odd` INT)"
)
FIRST = (
    "INSERT INTO sample VALUES (1, 'a', TIMESTAMP '2024-03-31 23:30:00', 1.5, '2024-01-02', array(1, NULL), 1), "
    "(2, NULL, NULL, NULL, NULL, NULL, NULL)"
)
SECOND = (
    "INSERT INTO sample VALUES (3, 'b', TIMESTAMP '2024-07-01 02:00:00', 2.123456789012345678, '2024-02-29', "
    "array(NULL), 3)"
)


@dataclass(frozen=True)
class Meaning:
    """A setting, another value than at the creation, and a query that is answered otherwise then."""

    setting: str
    value: str
    query: str

    def __str__(self) -> str:
        return f"{self.setting}={self.value}"


_SQL = "spark.sql."
MEANINGS = (
    Meaning(_SQL + "session.timeZone", "America/Los_Angeles", "SELECT id, CAST(moment AS STRING) AS m FROM sample"),
    Meaning(_SQL + "session.timeZone", "Asia/Tokyo", "SELECT DATE(moment) AS d, COUNT(*) AS n FROM sample GROUP BY 1"),
    Meaning(_SQL + "ansi.enabled", "false", "SELECT id, TRY_CAST(word AS INT) AS n, word || 1 + 1 AS m FROM sample"),
    Meaning(
        _SQL + "ansi.enabled",
        "false",
        "SELECT SUM(CAST(CONCAT('1', id) AS INT)) / 0.5 AS n, 2147483647 AS m FROM sample",
    ),
    Meaning(
        _SQL + "binaryOutputStyle", "HEX", "SELECT id, to_csv(struct(CAST(id || 'x' AS BINARY) AS b)) AS c FROM sample"
    ),
    Meaning(_SQL + "caseSensitive", "true", "SELECT ID AS id, odd AS o FROM sample"),
    Meaning(_SQL + "mapKeyDedupPolicy", "LAST_WIN", "SELECT id, map(id, 1, id + 1, 2) AS m FROM sample"),
    Meaning(_SQL + "decimalOperations.allowPrecisionLoss", "false", "SELECT id, amount * amount AS p FROM sample"),
    Meaning(_SQL + "groupByOrdinal", "false", "SELECT id % 2 AS p, COUNT(*) AS n FROM sample GROUP BY 1"),
    Meaning(_SQL + "orderByOrdinal", "false", "SELECT -id AS i, id FROM sample ORDER BY 1 DESC, id DESC LIMIT 1"),
    Meaning(_SQL + "groupByAliases", "false", "SELECT id % 2 AS p, COUNT(*) AS n FROM sample GROUP BY p"),
    Meaning(_SQL + "parser.escapedStringLiterals", "true", r"SELECT id, 'a\tb' AS s FROM sample"),
    Meaning(_SQL + "ansi.doubleQuotedIdentifiers", "true", 'SELECT id, "word" AS s FROM sample'),
    Meaning(_SQL + "timestampType", "TIMESTAMP_NTZ", "SELECT id, CAST(day AS TIMESTAMP) AS t FROM sample"),
    Meaning(
        _SQL + "legacy.setopsPrecedence.enabled",
        "true",
        "SELECT id FROM sample UNION SELECT id + 1 FROM sample INTERSECT SELECT 2",
    ),
    Meaning(_SQL + "legacy.timeParserPolicy", "LEGACY", "SELECT id, to_date(day, 'yyyy-MM-dd') AS d FROM sample"),
    Meaning(_SQL + "legacy.sizeOfNull", "true", "SELECT id, size(list) AS n FROM sample"),
    Meaning(
        _SQL + "legacy.followThreeValuedLogicInArrayExists",
        "false",
        "SELECT id, exists(list, x -> x > 1) AS e FROM sample",
    ),
    Meaning(
        _SQL + "legacy.castComplexTypesToString.enabled", "true", "SELECT id, CAST(list AS STRING) AS s FROM sample"
    ),
    Meaning(_SQL + "legacy.nullInEmptyListBehavior", "true", "SELECT id, word IN ('a', NULL) AS n FROM sample"),
    Meaning(_SQL + "crossJoin.enabled", "false", "SELECT a.id, b.word FROM sample a, sample b"),
    Meaning(_SQL + "parser.quotedRegexColumnNames", "true", "SELECT `id`, `word` FROM sample"),
    Meaning(_SQL + "variable.substitute", "false", "SELECT id, '${spark.sql.ansi.enabled}' AS v FROM sample"),
    Meaning(
        _SQL + "ansi.enforceReservedKeywords", "true", "SELECT id, user FROM (SELECT id, word AS user FROM sample)"
    ),
)


def other_settings(random: Random, cycles: int) -> dict[int, dict[str, str]]:
    """For some of the cycles, what the session that refreshes has set otherwise."""
    found = {}
    for cycle in range(1, cycles + 1):
        if random.random() < 0.6:
            chosen = random.sample(MEANINGS, random.randint(1, 4))
            found[cycle] = {each.setting: each.value for each in chosen}
    return found
