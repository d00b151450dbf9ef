"""The clock in queries: whether one reads it, wherever it is written, and queries computed as of a given moment.

Spark's analysed plan is asked: in it are views, SQL functions, and words that become moments, as in
`CAST('now' AS TIMESTAMP)`. Only `DATE 'today'` and its kin are gone from there: Spark's parser has put the value in
their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_trickle.spark.session.failures import spark_errors
from spark_trickle.storage.iceberg import DATASET, static

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOMENTS = ("CurrentTimestamp", "Now")
_CLOCK = {"CurrentTimestamp": "current_timestamp", "Now": "now", "CurrentDate": "current_date"}
_CLOCK |= {"LocalTimestamp": "localtimestamp", "CurrentTime": "current_time"}
"""Spark's expressions that read the clock, and what they are called."""
_WORDS = re.compile(r"\s*(now|today|tomorrow|yesterday)(?:\s+(\S+))?\s*", re.IGNORECASE)
_DAYS = {"now": 0, "today": 0, "tomorrow": 1, "yesterday": -1}
_MICROS = 1_000_000


def clock_reads(frame: DataFrame, *, words: bool) -> tuple[str, ...]:
    """What a query reads of the clock, as one would write it.

    Args:
        words: also look for text that becomes a moment. That takes a walk through the whole plan.
    """
    return tuple(dict.fromkeys(name for _, name in _found(frame, words=words)))


def at_moment(frame: DataFrame, moment: datetime) -> DataFrame:
    """The same query, as of a moment: whatever in it reads the clock reads that."""
    from pyspark.sql import DataFrame

    session = frame.sparkSession
    jvm: Any = session._jvm
    values = static(session, "java.util.HashMap")()
    with spark_errors("fixing the moment of a query"):
        for expression, _ in _found(frame, words=True):
            values.put(expression, _literal(jvm, expression, _instant(jvm, moment)))
        if values.isEmpty():
            return frame
        # A map of Scala's is a partial function, which is what Spark wants to replace expressions by.
        instead = static(session, "scala.jdk.javaapi.CollectionConverters").asScala(values)
        java: Any = frame._jdf
        plan = java.queryExecution().analyzed().transformAllExpressionsWithSubqueries(instead)
        return DataFrame(static(session, DATASET).ofRows(session._jsparkSession, plan), session)


def _found(frame: DataFrame, *, words: bool) -> Iterator[tuple[Any, str]]:
    patterns = static(frame.sparkSession, "org.apache.spark.sql.catalyst.trees.TreePattern")
    java: Any = frame._jdf
    plan = java.queryExecution().analyzed()
    current, cast = patterns.CURRENT_LIKE(), patterns.CAST()

    def worth_a_look(tree: Any) -> bool:
        return bool(tree.containsPattern(current) or (words and tree.containsPattern(cast)))

    if not worth_a_look(plan):
        return
    subqueries = plan.subqueriesAll()
    pending = [plan, *(subqueries.apply(place) for place in range(subqueries.length()))]
    while pending:
        node = pending.pop()
        if not worth_a_look(node):
            continue
        expressions, children = node.expressions(), node.children()
        pending += [children.apply(place) for place in range(children.length())]
        trees = [expressions.apply(place) for place in range(expressions.length())]
        while trees:
            tree = trees.pop()
            if not worth_a_look(tree):
                continue
            name = _name(tree)
            if name is not None:
                yield tree, name
            inner = tree.children()
            trees += [inner.apply(place) for place in range(inner.length())]


def _name(expression: Any) -> str | None:
    """What an expression is called that reads the clock by itself; None: it does not."""
    kind = str(expression.getClass().getSimpleName())
    if kind in _CLOCK:
        return f"{_CLOCK[kind]}()"
    found = _word(expression) if kind == "Cast" else None
    return None if found is None else f"the text '{found[0]}' as {expression.dataType().sql()}"


def _word(cast: Any) -> tuple[str, str | None] | None:
    """The word and the zone of a text that is cast to a date or a moment."""
    if str(cast.dataType().typeName()) not in ("date", "timestamp", "timestamp_ntz"):
        return None
    child = cast.child()
    if str(child.dataType().typeName()) != "string" or not child.foldable():
        return None
    value = child.eval(None)
    found = None if value is None else _WORDS.fullmatch(str(value.toString() if hasattr(value, "toString") else value))
    return None if found is None else (found[1].lower(), found[2])


def _instant(jvm: Any, moment: datetime) -> Any:
    seconds = int(moment.replace(microsecond=0).timestamp())
    return jvm.java.time.Instant.ofEpochSecond(seconds, moment.microsecond * 1000)


def _literal(jvm: Any, expression: Any, instant: Any) -> Any:
    """What an expression is at an instant."""
    kind, type_ = str(expression.getClass().getSimpleName()), expression.dataType()
    micros = int(instant.getEpochSecond()) * _MICROS + int(instant.getNano()) // 1000
    if kind in _MOMENTS:
        return _value(jvm, micros, type_)
    word = _word(expression) if kind == "Cast" else None
    zone = expression.zoneId() if word is None or word[1] is None else jvm.java.time.ZoneId.of(word[1])
    local = instant.atZone(zone)
    if kind == "CurrentTime":
        unit = 10 ** (9 - int(expression.precision()))
        return _value(jvm, int(local.toLocalTime().toNanoOfDay()) // unit * unit, type_)
    if word is not None and word[0] != "now":
        local = local.toLocalDate().plusDays(_DAYS[word[0]]).atStartOfDay(zone)
    name = str(type_.typeName())
    if name == "date":
        return _value(jvm, int(local.toLocalDate().toEpochDay()), type_, whole=False)
    if name == "timestamp_ntz":
        local = local.toLocalDateTime().atZone(jvm.java.time.ZoneOffset.UTC)
    seconds, nanos = int(local.toEpochSecond()), int(local.getNano())
    return _value(jvm, seconds * _MICROS + nanos // 1000, type_)


def _value(jvm: Any, number: int, type_: Any, *, whole: bool = True) -> Any:
    # Py4J makes an Integer of a small number, whatever is wanted.
    boxed = jvm.java.lang.Long.valueOf(str(number)) if whole else jvm.java.lang.Integer.valueOf(str(number))
    return jvm.org.apache.spark.sql.catalyst.expressions.Literal(boxed, type_)
