"""Convert big-endian bytes to integers with Spark expressions.

Spark has no cast from binary to a number, and `conv(hex(…))` is slow. But CRC-32 maps four bytes one-to-one to their
checksum, and it is linear over XOR. So the value of four bytes is the XOR of four table entries, one for each byte of
their checksum (`crc32_inverse_tables`).
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
    """Return four bytes of binary data as an unsigned number; the first byte has position 1.

    If the data has fewer bytes there, the result is arbitrary, so the caller must check the length.
    """
    checksum = F.crc32(F.substring(data, position, F.lit(4)))  # used four times below, computed once by Spark
    shifted = (F.shiftright(checksum, 8 * index) if index else checksum for index in range(4))
    lowest, *others = (_table(index)[byte.bitwiseAND(F.lit(_BYTE_VALUES - 1))] for index, byte in enumerate(shifted))
    return reduce(lambda value, part: value.bitwiseXOR(part), others, lowest)


def int64_at(data: Column, position: Column) -> Column:
    """Return eight bytes of binary data as a signed number; the first byte has position 1."""
    return F.shiftleft(uint32_at(data, position), 32).bitwiseOR(uint32_at(data, position + 4))


def _table(index: int) -> Column:
    """Return a table as one string literal that Spark parses while planning: an array would bloat the plan."""
    numbers = F.split(F.lit(",".join(map(str, crc32_inverse_tables()[index]))), ",")
    return numbers.cast(ArrayType(LongType(), containsNull=False))


@cache
def crc32_inverse_tables() -> tuple[list[int], ...]:
    """Return four tables of 256 numbers, for the bytes of a checksum from the lowest to the highest.

    The XOR of the four entries that a checksum's bytes select is the big-endian value of the checksummed bytes.
    """
    of_zero = _invert(0)
    lowest = [_invert(value) for value in range(_BYTE_VALUES)]
    others = ([_invert(value << 8 * index) ^ of_zero for value in range(_BYTE_VALUES)] for index in (1, 2, 3))
    return lowest, *others


def _invert(checksum: int) -> int:
    """Return the big-endian value of the four bytes that have this CRC-32."""
    state = checksum ^ _UINT32_MAX
    for _ in range(32):
        state = ((state ^ _POLYNOMIAL) << 1 | 1) & _UINT32_MAX if state >> 31 else state << 1
    return int.from_bytes((state ^ _UINT32_MAX).to_bytes(4, "little"), "big")
