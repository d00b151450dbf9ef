"""How columns are kept: smaller than Arrow's own form where that loses nothing, so that more of them fit in memory.

Decimals of up to 18 digits are kept as long integers, texts of few values as numbers of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_DIGITS = 18
"""Digits of a decimal that a long integer can have."""
_REPEATED = 8
"""A text that is there so often in the middle is written once."""
_MOST_TEXTS = 30_000


_TEXT_BYTES = 12
"""Of a text, about: many columns of texts have few values."""


def bytes_kept(kind: pa.DataType) -> int:
    """What a value takes here, about."""
    if pa.types.is_decimal128(kind):
        return 8 if kind.precision <= MOST_DIGITS else 16
    return bytes_of(kind)


def bytes_of(kind: pa.DataType) -> int:
    """What a value takes in Arrow, about."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # of no fixed width
        return _TEXT_BYTES


def encoded(values: pa.Array) -> pa.Array:
    """The column as it is kept."""
    kind = values.type
    if pa.types.is_decimal128(kind) and kind.precision <= MOST_DIGITS:
        return _integers(values)
    if pa.types.is_string(kind) and len(values) > _REPEATED:
        numbered = values.dictionary_encode()
        if len(numbered.dictionary) <= min(_MOST_TEXTS, len(values) // _REPEATED):
            index = pa.int8() if len(numbered.dictionary) < 2**7 else pa.int16()
            return pa.DictionaryArray.from_arrays(numbered.indices.cast(index), numbered.dictionary)
    return values


def decoded(kept: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as it was."""
    if kept.type.equals(kind):
        return kept
    if pa.types.is_decimal128(kind):
        return _decimals(kept, kind)
    if pa.types.is_dictionary(kept.type):
        return kept.dictionary_decode()
    return kept.cast(kind)


def _integers(values: pa.Array) -> pa.Array:
    """Decimals without their point."""
    count = len(values)
    if count == 0:
        return pa.array([], pa.int64())
    # A decimal is sixteen bytes, the lower eight first; the upper ones only repeat the sign.
    raw = np.frombuffer(values.buffers()[1], dtype="<i8")
    lower = raw[2 * values.offset : 2 * (values.offset + count) : 2]
    return pa.array(np.ascontiguousarray(lower), pa.int64(), mask=_nulls(values))


def _decimals(kept: pa.Array, kind: pa.DataType) -> pa.Array:
    numbers = np.asarray(kept.fill_null(0))
    raw = np.empty(2 * len(numbers), dtype="<i8")
    raw[0::2], raw[1::2] = numbers, numbers >> 63
    found = pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(raw)])
    return found if kept.null_count == 0 else pc.if_else(kept.is_valid(), found, pa.scalar(None, kind))


def _nulls(values: pa.Array) -> np.ndarray | None:
    return None if values.null_count == 0 else np.asarray(values.is_null())
