"""Values at the edges of every type of Spark and Iceberg, as SQL text: what a friendly generator would never draw.

Columns of such kinds are compared, grouped, joined, ordered and shown, not computed with: most sums of extremes have no
answer. DuckDB never sees them.
"""

from __future__ import annotations

from tests.support.fuzz.schema import Kind

_LARGEST, _SMALLEST = 2**63 - 1, -(2**63)
_ODD_WORDS = (
    "''", "' '", "'a'", "'A'", r"'it\'s'", r"'say \"x\"'", r"'two\nlines'", r"'tab\tend '", r"'back\\slash'", "'%_'",
    "'é'", "'e\u0301'", "'ß'", "'İ'", "'😀'", r"'\u00e9'", "'NULL'", "'null'", "'0'", "'`'", "'--'", "'/*'", "';'",
    "'{}'",    r"concat('a', char(0), 'b')", "repeat('x', 300)", "'_weight'", "'${x}'", "'?'", "':x'",
)  # fmt: skip

WILD: dict[Kind, tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    Kind.WIDE: (
        "z",
        (
            ("INT", ("2147483647", "-2147483648", "0", "1", "-1")),
            ("BIGINT", (f"{_LARGEST}L", f"{_LARGEST}L", "CAST('-9223372036854775808' AS BIGINT)", "0L", "-1L", "7L")),
            ("BIGINT", ("127L", "128L", "-129L", "32768L", "-32769L", "2147483648L", "-2147483649L")),
        ),
    ),
    Kind.HUGE: (
        "h",
        (
            ("DECIMAL(38,0)", ("9" * 38 + "BD", "-" + "9" * 38 + "BD", "0BD", "1BD", "-1BD")),
            ("DECIMAL(38,18)", (f"{'9' * 20}.{'9' * 18}BD", f"-{'9' * 20}.{'9' * 18}BD", f"0.{'0' * 17}1BD", "0BD")),
            ("DECIMAL(5,5)", ("0.99999BD", "-0.99999BD", "0.00001BD", "0BD")),
        ),
    ),
    Kind.REAL: (
        "q",
        (
            ("DOUBLE", ("double('NaN')", "double('Infinity')", "double('-Infinity')", "-0.0D", "0.0D", "4.9E-324D")),
            ("DOUBLE", ("1.7976931348623157E308D", "-1.7976931348623157E308D", "0.1D", "-0.0D", "double('NaN')")),
            ("FLOAT", ("float('NaN')", "float('Infinity')", "float('-0.0')", "float('0.0')", "float('1.4E-45')")),
        ),
    ),
    Kind.WORDS: ("y", (("STRING", _ODD_WORDS),)),
    Kind.BYTES: ("x", (("BINARY", ("X''", "X'00'", "X'FF'", "X'00FF00'", "X'61'", "X'C3'", "X'F09F9880'")),)),
    Kind.DAY: (
        "j",
        (
            ("DATE", ("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1582-10-04'", "DATE '1582-10-15'")),
            ("DATE", ("DATE '1970-01-01'", "DATE '1969-12-31'", "DATE '2024-02-29'", "DATE '1900-02-28'")),
            ("DATE", ("DATE '+290000-01-01'", "DATE '-290000-01-01'", "DATE '0000-01-01'", "DATE '2024-01-01'")),
        ),
    ),
    Kind.MOMENT: (
        "k",
        (
            ("TIMESTAMP", ("TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'")),
            ("TIMESTAMP", ("TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1969-12-31 23:59:59.999999'")),
            ("TIMESTAMP", ("TIMESTAMP '2016-12-31 23:59:59'", "TIMESTAMP '2024-03-31 02:30:00'")),
            ("TIMESTAMP", ("TIMESTAMP '+290000-01-01 00:00:00'", "TIMESTAMP '-290000-12-31 00:00:00'")),
        ),
    ),
    Kind.WALL: (
        "l",
        (
            ("TIMESTAMP_NTZ", ("TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'")),
            ("TIMESTAMP_NTZ", ("TIMESTAMP_NTZ '1582-10-10 00:00:00'", "TIMESTAMP_NTZ '1969-12-31 23:59:59.9'")),
            ("TIMESTAMP_NTZ", ("TIMESTAMP_NTZ '+290000-01-01 00:00:00'", "TIMESTAMP_NTZ '2024-03-31 02:30:00'")),
        ),
    ),
    Kind.LIST: (
        "o",
        (("ARRAY<INT>", ("CAST(array() AS ARRAY<INT>)", "array(CAST(NULL AS INT))", "array(1)", "array(1, NULL)")),),
    ),
    Kind.NESTED: (
        "n",
        (
            (
                "ARRAY<ARRAY<STRING>>",
                (
                    "CAST(array() AS ARRAY<ARRAY<STRING>>)",
                    "CAST(array(NULL) AS ARRAY<ARRAY<STRING>>)",
                    "CAST(array(array()) AS ARRAY<ARRAY<STRING>>)",
                    "array(array('a', NULL), array(''))",
                ),
            ),
        ),
    ),
    Kind.RECORD: (
        "u",
        (
            (
                "STRUCT<a: INT, `b c`: STRING>",
                (
                    "named_struct('a', CAST(NULL AS INT), 'b c', CAST(NULL AS STRING))",
                    "named_struct('a', 1, 'b c', '')",
                    "named_struct('a', 1, 'b c', CAST(NULL AS STRING))",
                    "named_struct('a', -2147483648, 'b c', 'b')",
                ),
            ),
        ),
    ),
    Kind.DICTIONARY: (
        "g",
        (
            (
                "MAP<STRING, INT>",
                ("CAST(map() AS MAP<STRING, INT>)", "map('b', 1, 'a', 2)", "map('a', CAST(NULL AS INT))", "map('', 0)"),
            ),
        ),
    ),
}
"""The letter of a kind's columns, and its types, each with values. A column has one type and one such set of values,
so that rows are equal often."""
