"""Queries over few rows run without a job, and answer what a job answers: over rows that are here and over files of
Iceberg's, for all shapes of queries, types, settings and errors. What reads more is left to a job.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_trickle.spark.execution.local import fetch, hand_back
from spark_trickle.spark.execution.on_driver import compiled, on_driver
from spark_trickle.spark.execution.planning import planned_for
from spark_trickle.spark.session.failures import file_gone
from spark_trickle.spark.session.jobs import counting_jobs
from spark_trickle.spark.session.sessions import LOCAL_QUERY_ROWS
from spark_trickle.spark.session.stores import LAKE_PREFIX
from spark_trickle.storage.iceberg import static
from tests.spark.versions import Lab

VIEWS = {
    "big": """SELECT id, id % 7 AS k, CAST(id * 1.25 AS DECIMAL(12,2)) AS v,
        IF(id % 5 = 0, NULL, CONCAT('s', id % 11)) AS s FROM range(400)""",
    "small": """SELECT id AS k, CONCAT('n', id) AS n FROM range(5)
        UNION ALL SELECT NULL, 'none' UNION ALL SELECT 1, 'again'""",
    "empty": "SELECT id AS k, CAST(NULL AS STRING) AS n FROM range(0)",
    "types": """SELECT * FROM VALUES
        (TRUE, 1Y, 2S, 3, 4L, CAST('NaN' AS FLOAT), -0.0D, 1.5BD, 'a', X'00FF', DATE'0001-01-01',
         TIMESTAMP'2024-11-03 05:30:00Z', TIMESTAMP_NTZ'9999-12-31 23:59:59', ARRAY(1, NULL),
         FROM_JSON('{"x":1,"y":"b"}', 'x INT, y STRING')),
        (NULL, NULL, NULL, NULL, -9223372036854775808L, NULL, CAST('Infinity' AS DOUBLE), NULL, '', NULL, NULL,
         NULL, NULL, ARRAY(), NULL)
        AS t (b, i1, i2, i4, i8, f, d, m, s, x, day, ts, ntz, many, pair)""",
}

SHAPES = (
    "SELECT * FROM types",
    "SELECT * FROM empty",
    "SELECT COUNT(*) AS c, SUM(k) AS s, MAX(n) AS m FROM empty",
    "SELECT k, COUNT(*) AS c, SUM(v) AS s, AVG(v) AS a, COUNT(DISTINCT s) AS d FROM big GROUP BY k",
    "SELECT big.*, n FROM big JOIN small ON big.k = small.k",
    "SELECT a.n, SUM(v) AS t FROM big JOIN small a ON big.k = a.k JOIN small b ON b.k = id GROUP BY a.n",
    "SELECT n, COUNT(id) AS c, MIN(s) AS m FROM small LEFT JOIN big ON big.k = small.k GROUP BY n",
    "SELECT * FROM big FULL JOIN small ON big.k = small.k AND big.id < 20",
    "SELECT * FROM big LEFT JOIN small ON big.k = small.k LEFT JOIN small AS third ON third.k = small.k + 1",
    "SELECT * FROM big a JOIN small b ON a.k <=> b.k",
    # Products say no number of partitions, and a union asks.
    """SELECT a.k, c.n FROM small a CROSS JOIN small b JOIN small c ON c.k = a.k
        UNION ALL SELECT a.k, c.n FROM big a JOIN small b ON a.k > b.k JOIN small c ON c.k = a.k""",
    "SELECT * FROM small a CROSS JOIN small b",
    "SELECT * FROM big WHERE EXISTS (SELECT 1 FROM small WHERE small.k = big.k)",
    "SELECT * FROM big WHERE NOT EXISTS (SELECT 1 FROM small WHERE small.k = big.k AND small.n > big.s)",
    "SELECT DISTINCT k, s FROM big UNION ALL SELECT k, n FROM small UNION SELECT k, n FROM empty",
    "SELECT k FROM big INTERSECT ALL SELECT k FROM small",
    "SELECT k, n FROM small EXCEPT SELECT k, n FROM empty",
    "SELECT *, RANK() OVER (PARTITION BY k ORDER BY id DESC) AS r, SUM(v) OVER (ORDER BY id) AS t FROM big",
    "SELECT * FROM big ORDER BY v DESC, id LIMIT 7",
    "SELECT k, x FROM big LATERAL VIEW EXPLODE(SEQUENCE(1, CAST(k AS INT) + 1)) AS x WHERE id < 50",
    "SELECT k, s, COUNT(*) AS c FROM big GROUP BY ROLLUP (k, s)",
    "SELECT * FROM big TABLESAMPLE (100 PERCENT) WHERE id IN (1, 2, 3)",
    "WITH w AS (SELECT k, SUM(v) AS t FROM big GROUP BY k) SELECT a.k, a.t, b.t AS u FROM w a, w b WHERE a.k = b.k + 1",
    "SELECT 1 AS one, CURRENT_DATE() IS NOT NULL AS known",
    "SELECT COLLECT_LIST(id) AS many, MAX_BY(s, id) AS last, PERCENTILE(id, 0.5) AS mid FROM big",
    "SELECT CAST(ts AS STRING) AS shown, HOUR(ts) AS h, DATE_FORMAT(ts, 'yyyy-MM-dd HH') AS f FROM types",
)

NEEDS_A_JOB = (
    "SELECT * FROM big WHERE v > (SELECT AVG(v) FROM big)",  # what is compared with is known by a job of its own
    "SELECT * FROM small LEFT JOIN big ON big.k > small.k",  # one side is broadcast
    "SELECT * FROM big WHERE k NOT IN (SELECT k FROM small WHERE k IS NOT NULL)",
    "SELECT * FROM range(3)",
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    made = spark.newSession()
    made.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    made.conf.set(LOCAL_QUERY_ROWS, "250000")
    for key, value in spark.conf.getAll.items():
        if key.startswith(LAKE_PREFIX):
            made.conf.set(key, value)
    for name, text in VIEWS.items():
        frame = spark.sql(text)
        hand_back(made, frame.toArrow(), frame.schema).createOrReplaceTempView(name)
    with planned_for(made, small=True):
        yield made


def rows_of(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("text", SHAPES)
def test_a_query_over_rows_that_are_here_takes_no_job_and_answers_the_same(session: SparkSession, text: str) -> None:
    by_a_job = session.sql(text).toArrow()
    with counting_jobs(session) as jobs:
        here = fetch(session.sql(text))
        assert jobs() == 0
    assert here.schema == by_a_job.schema
    assert rows_of(here) == rows_of(by_a_job)


@pytest.mark.parametrize("text", NEEDS_A_JOB)
def test_what_is_not_all_here_is_left_to_a_job(session: SparkSession, text: str) -> None:
    assert on_driver(session.sql(text)) is None
    assert rows_of(fetch(session.sql(text))) == rows_of(session.sql(text).toArrow())


def test_the_order_of_rows_is_that_of_the_query(session: SparkSession) -> None:
    found = on_driver(session.sql("SELECT id FROM big ORDER BY k DESC, id LIMIT 5"))
    assert found is not None and found.column("id").to_pylist() == [6, 13, 20, 27, 34]


def test_many_rows_come_whole(session: SparkSession) -> None:
    text = "SELECT a.id * 400 + b.id AS id, REPEAT(a.s, 20) AS s FROM big a CROSS JOIN big b"
    found = on_driver(session.sql(text))
    assert found is not None and sorted(found.column("id").to_pylist()) == list(range(160_000))


def test_what_few_rows_come_to_is_brought_by_a_job_where_it_is_large(session: SparkSession) -> None:
    text = "SELECT id, REPEAT(CHR(CAST(65 + id % 26 AS INT)), {}) AS s FROM big WHERE id < 150"
    assert on_driver(session.sql(text.format(1_000_000))) is None
    assert static(session, "org.apache.spark.SparkEnv").get().memoryManager().executionMemoryUsed() == 0
    found = on_driver(session.sql(text.format(100_000)))
    assert found is not None and found.num_rows == 150


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_errors_and_their_absence_are_those_of_a_job(session: SparkSession, ansi: str) -> None:
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for text in (
            "SELECT 1 / (k - k) AS x FROM big",
            "SELECT CAST(s AS INT) AS x FROM big",
            "SELECT SUM(i8) + SUM(i8) AS x FROM types",
        ):
            answers: list[list[str] | str] = []
            for run in (lambda frame: frame.toArrow(), on_driver):
                try:
                    answers.append(rows_of(run(session.sql(text))))
                except PySparkException as err:
                    answers.append(str(err.getCondition()))
            assert answers[0] == answers[1], text
            assert isinstance(answers[0], str) == (ansi == "true"), text
    finally:
        session.conf.unset("spark.sql.ansi.enabled")


def test_settings_count_as_they_are_when_it_runs(session: SparkSession) -> None:
    text = "SELECT CAST(ts AS STRING) AS shown FROM types WHERE ts IS NOT NULL"
    for zone, shown in (("UTC", "2024-11-03 05:30:00"), ("America/New_York", "2024-11-03 01:30:00")):
        session.conf.set("spark.sql.session.timeZone", zone)
        found = on_driver(session.sql(text))
        assert found is not None and found.to_pylist() == [{"shown": shown}]
    session.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")


def test_threads_do_not_meet(session: SparkSession) -> None:
    text = "SELECT a.k, COUNT(*) AS c, SUM(a.v) AS v FROM big a JOIN big b ON a.k = b.k GROUP BY a.k"
    wanted = rows_of(session.sql(text).toArrow())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: on_driver(session.sql(text)), range(48)))
    assert all(each is not None and rows_of(each) == wanted for each in found)


TABLES = """
    CREATE TABLE {0}.parts (id BIGINT, k INT, s STRING, d DOUBLE) PARTITIONED BY (k)
        TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read');
    INSERT INTO {0}.parts SELECT id, CAST(id % 3 AS INT), CONCAT('s', id % 7), id / 3 FROM range(300);
    INSERT INTO {0}.parts SELECT id, NULL, NULL, NULL FROM range(300, 310);
    DELETE FROM {0}.parts WHERE id % 10 = 3;
    CREATE TABLE {0}.older (id BIGINT, n STRING)
        TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read');
    INSERT INTO {0}.older SELECT id, CONCAT('n', id) FROM range(50);
    DELETE FROM {0}.older WHERE id = 7;
    ALTER TABLE {0}.older ADD COLUMN later INT;
    CREATE TABLE {0}.none (id BIGINT, n STRING)
"""
OVER_FILES = (
    "SELECT * FROM {0}.parts",
    "SELECT *, _file, _pos FROM {0}.parts WHERE k = 1",
    "SELECT * FROM {0}.parts WHERE k = 1 AND id IN (4, 7, 13, 299)",
    "SELECT k, COUNT(*) AS c, SUM(d) AS s FROM {0}.parts GROUP BY k",
    "SELECT * FROM {0}.older o LEFT JOIN {0}.none n ON o.id = n.id",
    "SELECT * FROM {0}.none",
    "SELECT COUNT(*) AS c, MAX(n) AS m FROM {0}.none",
    "SELECT COUNT(*) AS c FROM {0}.parts",
    "SELECT /*+ BROADCAST(small) */ p.id, n FROM {0}.parts p JOIN small ON p.k = small.k",
    "SELECT /*+ MERGE(small) */ p.id FROM {0}.parts p LEFT SEMI JOIN small ON p.k = small.k",
    """SELECT p.id, o.n FROM {0}.parts p JOIN {0}.older o ON p.id = o.id
        WHERE EXISTS (SELECT 1 FROM small WHERE small.k = p.k)""",
    "SELECT id FROM {0}.parts UNION ALL SELECT id FROM {0}.older UNION ALL SELECT id FROM big",
    "SELECT * FROM {0}.older VERSION AS OF {1}",
    "SELECT file_path, pos FROM {0}.older.position_deletes",
)


@pytest.fixture
def named(session: SparkSession, lab: Lab) -> tuple[str, str]:
    """The namespace of some tables, and the first version of one of them."""
    name = f"lake.{lab.namespace}"
    for statement in TABLES.format(name).split(";"):
        session.sql(statement)
    first = session.sql(f"SELECT snapshot_id FROM {name}.older.snapshots ORDER BY committed_at LIMIT 1").first()
    assert first is not None
    return name, str(first[0])


def test_few_rows_of_tables_are_read_without_a_job(session: SparkSession, named: tuple[str, str]) -> None:
    for text in OVER_FILES:
        query = text.format(*named)
        by_a_job = session.sql(query).toArrow()
        with counting_jobs(session) as jobs:
            here = fetch(session.sql(query))
            assert jobs() == 0, query
        assert here.schema == by_a_job.schema, query
        assert rows_of(here) == rows_of(by_a_job), query


def test_more_rows_than_the_setting_says_are_read_by_a_job(session: SparkSession, named: tuple[str, str]) -> None:
    text = f"SELECT COUNT(id) AS c FROM {named[0]}.parts"
    try:
        for most, here in (("309", False), ("310", True), ("0", False)):
            session.conf.set(LOCAL_QUERY_ROWS, most)
            assert (on_driver(session.sql(text)) is not None) is here, most
            assert fetch(session.sql(text)).to_pylist() == [{"c": 279}]
        session.conf.set(LOCAL_QUERY_ROWS, "99")
        assert on_driver(session.sql("SELECT * FROM big")) is None  # 400 rows that are here, and count as 100
    finally:
        session.conf.set(LOCAL_QUERY_ROWS, "250000")


def test_files_that_cannot_be_read_are_an_error_of_a_job(session: SparkSession, named: tuple[str, str]) -> None:
    frame = session.sql(f"SELECT * FROM {named[0]}.older")
    for row in session.sql(f"SELECT file_path FROM {named[0]}.older.files").collect():
        Path(row[0].removeprefix("file:")).unlink()
    assert on_driver(frame) is None
    with pytest.raises(Py4JJavaError) as raised:
        fetch(frame)
    assert file_gone(raised.value)


TROUBLE = """
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

public final class OnDriver implements org.apache.spark.sql.api.java.UDF1 {
    public Object call(Object when) {
        if (when.equals("now")) throw new IllegalArgumentException("now");
        TaskContext.get().addTaskCompletionListener(new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext context) { throw new IllegalStateException("late"); }
        });
        return when;
    }
}
"""


def test_a_query_that_fails_leaves_nothing_in_its_thread(session: SparkSession) -> None:
    """The thread goes on to other things: a task that stays in it gives them its settings, and keeps its memory."""
    trouble = compiled(session, TROUBLE)
    java = session._jsparkSession
    java.udf().register("trouble", trouble, static(session, "org.apache.spark.sql.types.DataTypes").StringType)
    memory = static(session, "org.apache.spark.SparkEnv").get().memoryManager()
    active = static(session, "org.apache.spark.sql.classic.SparkSession")
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        for text in (
            "SELECT trouble(IF(m > 0, 'late', s)) AS t FROM (SELECT s, MAX(id) AS m FROM big GROUP BY s)",
            "SELECT trouble(IF(m > 0, 'now', s)) AS t FROM (SELECT s, MAX(id) AS m FROM big GROUP BY s)",
            "SELECT trouble(IF(r > 3, 'now', 'late')) AS t FROM (SELECT RANK() OVER (ORDER BY id) AS r FROM big)",
            "SELECT id, SUM(1 / (id - 399)) OVER (ORDER BY id) AS s FROM (SELECT * FROM big ORDER BY id)",
            "SELECT a.id, CAST(a.s AS INT) AS x FROM big a LEFT JOIN big b ON a.k = b.k",
            "SELECT MAX(1 / (id - 399)) AS m FROM big GROUP BY s",
        ):
            before = active.getActiveSession()
            with pytest.raises((PySparkException, Py4JJavaError)):
                on_driver(session.sql(text))
            assert static(session, "org.apache.spark.TaskContext").get() is None, text
            assert memory.executionMemoryUsed() == 0, text
            assert active.getActiveSession().equals(before) or not before.isDefined(), text
            for zone in ("UTC", "Asia/Tokyo"):
                session.conf.set("spark.sql.session.timeZone", zone)
                assert session.sql("SELECT current_timezone() AS z").collect()[0].z == zone
    finally:
        session.conf.unset("spark.sql.ansi.enabled")
        session.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")


GROUPED = {
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}
"""With these Spark joins partition by partition, and repeats those of one side for each part of the other's."""


def test_partitions_that_a_job_would_repeat_are_met_once(session: SparkSession, lab: Lab) -> None:
    name = f"lake.{lab.namespace}"
    for table in ("many", "few"):
        session.sql(f"CREATE TABLE {name}.{table} (id BIGINT, k INT) PARTITIONED BY (k)")
    for start in range(0, 60, 10):
        session.sql(f"INSERT INTO {name}.many SELECT id, CAST(id % 2 AS INT) FROM range({start}, {start + 10})")
    session.sql(f"INSERT INTO {name}.few VALUES (1, 0), (2, 1), (3, 1)")
    try:
        for key, value in GROUPED.items():
            session.conf.set(key, value)
        for text in (
            "SELECT a.id, b.id AS other FROM {0}.many a JOIN {0}.few b ON a.k = b.k",
            "SELECT a.id, b.id AS other FROM {0}.few a LEFT JOIN {0}.many b ON a.k = b.k",
            "SELECT a.k, COUNT(*) AS c, SUM(b.id) AS s FROM {0}.many a JOIN {0}.few b ON a.k = b.k GROUP BY a.k",
        ):
            query = text.format(name)
            here = on_driver(session.sql(query))
            assert here is not None
            assert rows_of(here) == rows_of(session.sql(query).toArrow()), query
    finally:
        for key in GROUPED:
            session.conf.unset(key)
