"""Convert big-endian bytes to integers with Spark expressions.

Spark cannot cast binary data to a number, and `conv(hex(…))` is slow. But Spark has a fast CRC-32, and the CRC-32 of
four bytes can be inverted, because no two values of four bytes have the same checksum. CRC-32 is also linear over XOR.
So four lookups are enough, one for each byte of the checksum: the XOR of the four table entries is the value of the
four bytes (see `crc32_inverse_tables`).
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType

if TYPE_CHECKING:
    from pyspark.sql import Column

_BYTE_VALUES = 256
_UINT32_MAX = 0xFFFFFFFF
_POLYNOMIAL = 0xEDB88320


def uint32_at(data: Column, position: Column) -> Column:
    """Return the four bytes at a position of binary data as an unsigned number; the first byte has position 1.

    If the data ends before the fourth byte, the result is arbitrary, so the caller must check the length.
    """
    # The four bytes are computed from their checksum (see the module docstring). The expression `checksum` occurs four
    # times in the result, but Spark evaluates it only once.
    checksum = F.crc32(F.substring(data, position, F.lit(4)))
    shifted = (F.shiftright(checksum, 8 * index) if index else checksum for index in range(4))
    lowest, *others = (_table(index)[byte.bitwiseAND(F.lit(_BYTE_VALUES - 1))] for index, byte in enumerate(shifted))
    return reduce(lambda value, part: value.bitwiseXOR(part), others, lowest)


def int64_at(data: Column, position: Column) -> Column:
    """Return the eight bytes at a position of binary data as a signed number; the first byte has position 1."""
    return F.shiftleft(uint32_at(data, position), 32).bitwiseOR(uint32_at(data, position + 4))


def _table(index: int) -> Column:
    """Return one of `crc32_inverse_tables` as an array column.

    The array is written as one string literal, which Spark parses while it plans the query. An array of 256 literals
    would make the plan much larger.
    """
    numbers = F.split(F.lit(",".join(map(str, crc32_inverse_tables()[index]))), ",")
    return numbers.cast(ArrayType(LongType(), containsNull=False))


@cache
def crc32_inverse_tables() -> tuple[list[int], ...]:
    """Return four tables that invert CRC-32, with 256 numbers each.

    To find the four bytes with a given checksum, look up each byte of the checksum in its own table (the lowest byte in
    the first table), and XOR the four results. The result is the four bytes as a big-endian number.
    """
    of_zero = _invert(0)
    lowest = [_invert(value) for value in range(_BYTE_VALUES)]
    others = ([_invert(value << 8 * index) ^ of_zero for value in range(_BYTE_VALUES)] for index in (1, 2, 3))
    return lowest, *others


def _invert(checksum: int) -> int:
    """Return the big-endian value of the four bytes whose CRC-32 is `checksum`."""
    state = checksum ^ _UINT32_MAX
    for _ in range(32):
        state = ((state ^ _POLYNOMIAL) << 1 | 1) & _UINT32_MAX if state >> 31 else state << 1
    return int.from_bytes((state ^ _UINT32_MAX).to_bytes(4, "little"), "big")
