"""Spark's short ways of writing, in words that mean the same everywhere: `1.5BD`, `v:a.b`, `struct(*)`."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from spark_trickle.sql.known_types import Kinds
from spark_trickle.sql.left_out import fields_left, star_left
from spark_trickle.sql.operators import column, dotted
from spark_trickle.sql.scope import Scope

BOUND = "bound"
"""Mark on a column that is one of the tree already."""

_EXACT = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?bd", re.IGNORECASE)


def exact_decimal(node: exp.Expr) -> exp.Expr | None:
    """`1.5BD` as a decimal of exactly its digits; the tokenizer takes it for a name.

    A minus sign belongs to the number behind it: as an operation, Spark rounds what it negates to 34 digits.

    >>> from spark_trickle.sql.parse import parse_query
    >>> [exact_decimal(found).sql() for found in parse_query("SELECT 12.50BD, 1e2BD, -0.5BD").selects]
    ["CAST('12.50' AS DECIMAL(4, 2))", "CAST('100' AS DECIMAL(3, 0))", "CAST('-0.5' AS DECIMAL(1, 1))"]
    """
    sign = "-" if isinstance(node, exp.Neg) else ""
    if sign:
        node = node.this
    if not isinstance(node, exp.Column) or len(node.parts) != 1 or node.this.args.get("quoted"):
        return None
    if not _EXACT.fullmatch(node.name):
        return None
    value = Decimal(node.name[:-2])
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    return exp.cast(exp.Literal.string(f"{sign}{value:f}"), exp.DataType.build(f"DECIMAL({precision}, {scale})"))


def variant_path(node: exp.Expr) -> exp.Expr | None:
    """`v:a.b[0]` as the function that it stands for.

    >>> from spark_trickle.sql.parse import parse_query
    >>> print(variant_path(parse_query("SELECT v:a[0]['x y']").selects[0]).sql(dialect="spark"))
    VARIANT_GET(v, '$.a[0]["x y"]', 'variant')
    """
    if not isinstance(node, exp.JSONExtract) or not node.args.get("variant_extract"):
        return None
    path = "$"
    for part in node.expression.expressions[1:]:
        if isinstance(part, exp.JSONPathSubscript):
            path += f"[{part.this}]"
        elif str(part.this).isidentifier():
            path += f".{part.this}"
        else:
            path += f'["{part.this}"]'
    arguments = [node.this.copy(), exp.Literal.string(path), exp.Literal.string("variant")]
    return exp.Anonymous(this="variant_get", expressions=arguments)


def without_stars(node: exp.Expr, scope: Scope, kinds: Kinds, text: str) -> None:
    """`struct(*)`, `count(DISTINCT t.*)`, `concat(s.*)` and `1 IN (*)` with the columns or fields that the star stands
    for."""
    if isinstance(node, exp.Count) and not isinstance(node.this, exp.Star):
        values = _expanded([node.this, *node.expressions], scope, kinds, text, named=False)
        if len(values) > 1:
            node.set("this", values[0])
            node.set("expressions", values[1:])
    elif isinstance(node, (exp.Anonymous, exp.Distinct, exp.In)):
        named = isinstance(node, exp.Anonymous) and node.name.lower() == "struct"
        node.set("expressions", _expanded(node.expressions, scope, kinds, text, named=named))


def _expanded(parts: list[exp.Expr], scope: Scope, kinds: Kinds, text: str, *, named: bool) -> list[exp.Expr]:
    written: list[exp.Expr] = []
    for part in parts:
        star = part.this if isinstance(part, exp.Column) else part
        if not isinstance(star, exp.Star):
            written.append(part)
            continue
        qualifier = tuple(name.name for name in part.parts[:-1]) if isinstance(part, exp.Column) else ()
        columns = scope.star_around(qualifier)
        base = None if columns else _struct(qualifier, scope)
        chosen = star_left(star, columns, scope, kinds, text)
        if base is not None:
            chosen = fields_left(star, base, kinds, text)
        if not chosen:
            written.append(part)  # what it stands for is not known: it is refused as it is
        for name, value in chosen:
            for read in value.find_all(exp.Column, exp.Dot):
                read.meta[BOUND] = True
            written.append(exp.alias_(value, name, quoted=True) if named else value)
    return written


def _struct(name: tuple[str, ...], scope: Scope) -> exp.Expr | None:
    """The struct that a name means."""
    found = scope.find_around(name) if name else None
    return None if found is None else dotted(found[1], column(found[0]))


def named_by_text(node: exp.Expr) -> list[str] | None:
    """The parts of a name that is written as text: `IDENTIFIER('a.b')`, which may be put together of texts.

    >>> from spark_trickle.sql.parse import parse_query
    >>> named_by_text(parse_query("SELECT IDENTIFIER('`a.b`' || concat('.', 'c'))").selects[0])
    ['a.b', 'c']
    """
    if not isinstance(node, exp.Anonymous) or node.name.lower() != "identifier" or len(node.expressions) != 1:
        return None
    text = _text(node.expressions[0])
    return None if text is None else [part.name for part in exp.to_table(text, dialect="spark").parts]


def _text(node: exp.Expr) -> str | None:
    """The text that an expression of texts is."""
    bare = node.unnest()
    if isinstance(bare, exp.Literal) and bare.is_string:
        return str(bare.name)
    is_concat = isinstance(bare, exp.Anonymous) and bare.name.lower() == "concat"
    parts = [bare.left, bare.right] if isinstance(bare, exp.DPipe) else bare.expressions if is_concat else [None]
    texts = [None if part is None else _text(part) for part in parts]
    return "".join(text for text in texts if text is not None) if None not in texts else None
