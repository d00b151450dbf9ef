"""Our statements as values, and scripts cut into statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_trickle.errors import SqlError
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
    parse_statement,
    split_statements,
)

QUERY = "SELECT region, SUM(amount) AS total FROM orders GROUP BY region"


def create(text: str) -> CreateStreamTable:
    statement = parse_statement(text)
    assert isinstance(statement, CreateStreamTable)
    return statement


def call(text: str) -> Call:
    statement = parse_statement(text)
    assert isinstance(statement, Call)
    return statement


def failure(text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        parse_statement(text)
    return caught.value


def test_create_with_every_clause_is_read() -> None:
    statement = create(
        "CREATE STREAM TABLE order_totals\n  SCHEDULE '1m' REFRESH MODE DIFFERENTIAL\n"
        f"  WITH (diamond_consistency = 'atomic', initialize = false)\nAS {QUERY};"
    )
    assert statement == CreateStreamTable(
        name="order_totals",
        query=QUERY,
        options={
            "schedule": "1m",
            "refresh_mode": "DIFFERENTIAL",
            "diamond_consistency": "atomic",
            "initialize": False,
        },
    )


@pytest.mark.parametrize(
    "clauses",
    [
        "SCHEDULE '5m' REFRESH MODE full WITH (strict = true)",
        "WITH (strict = TRUE) refresh mode 'FULL' schedule 5m",
        "REFRESH MODE Full WITH (STRICT = true, schedule = '5m')",
    ],
)
def test_clauses_come_in_any_order_case_and_place(clauses: str) -> None:
    options = create(f"create stream table t {clauses} as {QUERY}").options
    assert dict(options) == {"schedule": "5m", "refresh_mode": "FULL", "strict": True}


def test_or_replace_and_if_not_exists_are_told_apart() -> None:
    assert create(f"CREATE OR REPLACE STREAM TABLE t AS {QUERY}").or_replace
    assert create(f"CREATE STREAM TABLE IF NOT EXISTS t AS {QUERY}").if_not_exists
    assert "exclude each other" in str(failure(f"CREATE OR REPLACE STREAM TABLE IF NOT EXISTS t AS {QUERY}"))


def test_the_query_is_kept_as_written_with_its_comments_and_semicolons_in_strings() -> None:
    query = "-- daily; totals\n  WITH c AS (SELECT ';' AS s /* ; as */)\n\tSELECT s,\n  `a;b` FROM c"
    assert create(f"CREATE STREAM TABLE t WITH (fuse = on) AS {query} ; -- done").query == query


def test_a_comment_after_the_last_word_is_not_part_of_the_query() -> None:
    assert create("CREATE STREAM TABLE t AS SELECT 1 -- one").query == "SELECT 1"


@pytest.mark.parametrize("name", ["t", "sales.t", "lake.sales.t", "`odd name`", "sales.`a.b``c`", "2024_totals"])
def test_names_may_be_dotted_and_backquoted(name: str) -> None:
    assert create(f"CREATE STREAM TABLE {name} AS SELECT 1").name == name


def test_white_space_and_comments_may_stand_anywhere_between_words() -> None:
    text = "/* a /* nested */ comment */ CREATE--x\n STREAM\tTABLE sales /* of */ . t\r\nAS\nSELECT 1"
    assert create(text).name == "sales.t"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("ALTER STREAM TABLE t SET (schedule = '5m')", AlterStreamTable(name="t", options={"schedule": "5m"})),
        ("alter stream table t as select 1 as x;", AlterStreamTable(name="t", query="select 1 as x")),
        ("REFRESH STREAM TABLE t", RefreshStreamTable(("t",))),
        ("REFRESH STREAM TABLE a, b.c;", RefreshStreamTable(("a", "b.c"))),
        ("DROP STREAM TABLE t", DropStreamTable(name="t")),
        ("DROP STREAM TABLE IF EXISTS t CASCADE", DropStreamTable(name="t", if_exists=True, cascade=True)),
        ("EXPLAIN STREAM TABLE t", ExplainStreamTable("t")),
        ("show stream tables ;", ShowStreamTables()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_other_statement_is_read(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "CREATE TABLE stream (x INT)",
        "CREATE OR REPLACE TABLE t AS SELECT 1",
        "DROP TABLE stream",
        "REFRESH TABLE t",
        "REFRESH stream",
        "EXPLAIN SELECT 1",
        "SHOW TABLES",
        "CALL lake.system.expire_snapshots('t')",
        "SELECT 'never closed",
        "",
        "-- nothing",
        "`CREATE` STREAM TABLE t AS SELECT 1",
    ],
)
def test_plain_spark_sql_is_not_ours(text: str) -> None:
    assert parse_statement(text) is None


def test_call_takes_positional_then_named_literals() -> None:
    text = "CALL trickle.some_function('a''b', -2, 1.5, true, NULL, array('x', \"y\"), limit => 10, Tags => array())"
    assert call(text) == Call("some_function", ("a'b", -2, 1.5, True, None, ("x", "y")), {"limit": 10, "tags": ()})


def test_call_without_arguments_and_in_upper_case() -> None:
    assert call("CALL TRICKLE.DIAMOND_GROUPS();") == Call("diamond_groups")


def test_timestamp_literals_are_passed_as_text() -> None:
    assert call("CALL trickle.f(TIMESTAMP '2026-01-01 00:00:00')").args == ("2026-01-01 00:00:00",)


@pytest.mark.parametrize(
    ("text", "value"),
    [(r"'a\nb'", "a\nb"), (r"'it\'s'", "it's"), (r"r'a\n'", r"a\n"), ('"say ""x"""', 'say "x"'), (r"'\\d'", r"\d")],
)
def test_strings_are_unescaped_as_spark_does(text: str, value: str) -> None:
    assert call(f"CALL trickle.f({text})").args == (value,)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("CREATE STREAM VIEW v AS SELECT 1", "expected TABLE, found 'VIEW'", 1, 15),
        ("CREATE STREAM TABLE t\nSELECT 1", "expected SCHEDULE, REFRESH MODE, WITH (...) or AS", 2, 1),
        ("CREATE STREAM TABLE t AS ;", "expected a query after AS, found ';'", 1, 26),
        ("CREATE STREAM TABLE t", "found the end of the statement", 1, 22),
        ("CREATE STREAM TABLE t REFRESH MODE HOURLY AS SELECT 1", "AUTO, DIFFERENTIAL, FULL, IMMEDIATE", 1, 36),
        ("CREATE STREAM TABLE t WITH (speed = 1) AS SELECT 1", "expected an option (schedule,", 1, 29),
        ("CREATE STREAM TABLE t SCHEDULE '1m' WITH (schedule = '2m') AS SELECT 1", "'schedule' is given twice", 1, 43),
        ("CREATE STREAM TABLE t WITH (strict = true strict = true) AS SELECT 1", "expected ',' or ')'", 1, 43),
        ("CREATE STREAM TABLE t AS SELECT 'open", "a string is opened and never closed", 1, 33),
        ("ALTER STREAM TABLE t\n  RENAME TO u", "expected SET (...) or AS and a query", 2, 3),
        ("DROP STREAM TABLE t; DROP STREAM TABLE u", "a second statement begins at 'DROP'", 1, 22),
        ("DROP STREAM TABLE 't'", "expected a table name", 1, 19),
        ("DROP STREAM TABLE t RESTRICT", "expected the end of the statement, found 'RESTRICT'", 1, 21),
        ("CALL trickle.f(a => 1, 2)", "an argument without a name follows a named one", 1, 24),
        ("CALL trickle.f(a => 1, a => 2)", "argument 'a' is given twice", 1, 24),
        ("CALL trickle.f(current_date())", "expected a value", 1, 16),
        ("CALL trickle.f(- 'x')", "expected a number after '-'", 1, 18),
        ("CALL trickle.f('a' 'b')", "expected ',' or ')'", 1, 20),
    ],
)
def test_an_error_says_what_was_expected_where_and_gives_an_example(
    text: str, message: str, line: int, column: int
) -> None:
    err = failure(text)
    assert message in str(err)
    assert (err.line, err.column) == (line, column)
    assert err.hint is None or err.hint.startswith("Example: ")


def test_the_example_of_each_error_can_itself_be_read() -> None:
    for text in ("CREATE STREAM x", "ALTER STREAM x", "DROP STREAM x", "EXPLAIN STREAM x", "SHOW STREAM x"):
        hint = failure(text).hint
        assert hint is not None
        assert parse_statement(hint.removeprefix("Example: ")) is not None


def test_a_script_is_cut_at_semicolons_outside_strings_comments_and_backquotes() -> None:
    script = (
        "-- first; not a statement\n"
        "CREATE TABLE t (x STRING);\n"
        "INSERT INTO t VALUES ('a;b', \"c;d\"); /* x;\n y; */ SELECT `a;b`\n"
        "FROM t;;\n\n"
        "SELECT 'it\\'s; ok' -- tail;\n"
    )
    assert split_statements(script) == [
        ("CREATE TABLE t (x STRING)", 2),
        ("INSERT INTO t VALUES ('a;b', \"c;d\")", 3),
        ("SELECT `a;b`\nFROM t", 4),
        ("SELECT 'it\\'s; ok'", 7),
    ]


SCRIPTS = [
    "BEGIN END",
    "begin insert into t values (1); select ';' from t; end",
    "BEGIN /* END; */ BEGIN SELECT 1; END; -- END;\n SELECT 2; END",
    "outer_one: BEGIN inner_one: BEGIN SELECT 1; END inner_one; LEAVE outer_one; END outer_one",
    "BEGIN IF a > 1 THEN SELECT IF(a > 2, 1, 2); ELSEIF b THEN DROP TABLE IF EXISTS t; ELSE SELECT 1; END IF; END",
    "BEGIN SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END AS x, CASE WHEN c THEN 1 ELSE 2 END FROM t; END",
    "BEGIN CASE WHEN a THEN BEGIN SELECT 1; END; ELSE REPEAT SET i = i + 1; UNTIL i > 5 END REPEAT; END CASE; END",
    "BEGIN CASE a WHEN 1 THEN SELECT 1; END CASE; CASE WHEN b THEN SELECT 2; END CASE; SELECT 3; END",
    "BEGIN WHILE CASE WHEN a THEN true END DO SELECT repeat('x', 3); END WHILE; l: LOOP LEAVE l; END LOOP l; END",
    "BEGIN FOR r AS SELECT 1 AS a DO INSERT INTO t VALUES (r.a); END FOR; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '22012' BEGIN SELECT 1; END; SELECT 1/0; END",
    "BEGIN DECLARE c INT; DECLARE CONTINUE HANDLER FOR NOT FOUND SET c = 1; SELECT begin, t.end, end FROM t; END",
    "BEGIN SELECT CASE WHEN end > 1 THEN end ELSE t.end END FROM t; SELECT `begin` FROM t; END",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_one_statement(script: str) -> None:
    text = f"SELECT begin, end FROM t;\n{script};\nSELECT 2;"
    assert split_statements(text) == [("SELECT begin, end FROM t", 1), (script, 2), ("SELECT 2", text.count("\n") + 1)]


def test_a_script_that_is_not_closed_goes_on_to_the_end() -> None:
    assert split_statements("SELECT 1; BEGIN SELECT 2; SELECT 3") == [("SELECT 1", 1), ("BEGIN SELECT 2; SELECT 3", 1)]


def test_a_script_of_comments_only_has_no_statements() -> None:
    assert split_statements(" -- a\n/* b */ ; ;") == []


def test_an_unclosed_quote_in_a_script_is_reported_with_its_line() -> None:
    with pytest.raises(SqlError, match="never closed") as caught:
        split_statements("SELECT 1;\nSELECT `x;\n")
    assert (caught.value.line, caught.value.column) == (2, 8)


@given(
    st.lists(st.sampled_from(["SELECT 'a;''b'", "SELECT `x;`", "VALUES (1) /* ; */, (2)", 'SELECT r";"']), max_size=6)
)
def test_statements_joined_by_semicolons_come_apart_again(statements: list[str]) -> None:
    assert [text for text, _ in split_statements(";\n".join(statements))] == statements


@given(st.text())
def test_any_text_is_either_read_or_refused_as_a_user_error(text: str) -> None:
    for opening in ("", "CREATE STREAM TABLE ", "CALL trickle.", "ALTER STREAM TABLE t SET ("):
        try:
            parse_statement(opening + text)
        except SqlError as err:
            assert err.line is not None


def test_several_stream_tables_are_created_with_their_queries_in_parentheses() -> None:
    found = parse_statement(
        "CREATE STREAM TABLES a AS (SELECT x, (1) AS y FROM b), ns.b AS ( SELECT ')' AS x FROM a ) "
        "SCHEDULE '1m' WITH (strict = true);"
    )
    assert isinstance(found, CreateStreamTables)
    assert found.queries == {"a": "SELECT x, (1) AS y FROM b", "ns.b": "SELECT ')' AS x FROM a"}
    assert found.options == {"schedule": "1m", "strict": True}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE STREAM TABLES", "expected a table name"),
        ("CREATE STREAM TABLES a AS SELECT 1", r"expected \(, found 'SELECT'"),
        ("CREATE STREAM TABLES a AS (SELECT 1", r"expected '\)' after the query"),
        ("CREATE STREAM TABLES a AS (SELECT 1), a AS (SELECT 2)", "'a' is given twice"),
    ],
)
def test_several_stream_tables_wrongly_written_say_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(SqlError, match=said):
        parse_statement(text)
