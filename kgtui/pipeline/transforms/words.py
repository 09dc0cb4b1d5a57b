"""Numbers out of bytes, fast: Spark has no cast from binary to a number, and `conv` of `hex` is dear.

But it has `crc32`. The check sum of four bytes has four bytes and says all of them: no two words have the same. And it
is linear, so that each of its bytes tells a part of the word, whatever the others are. Thus a word is the exclusive or
of four looked-up numbers.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType

if TYPE_CHECKING:
    from pyspark.sql import Column

_BYTE = 256
_ONES = 0xFFFFFFFF
_POLYNOMIAL = 0xEDB88320


def word_at(data: Column, at: Column) -> Column:
    """The unsigned number of four bytes of binary data, most significant first; the first byte has number 1.

    Where there are fewer bytes it is some number: who asks must know how long the data is.
    """
    check = F.crc32(F.substring(data, at, F.lit(4)))  # four times in what follows, and computed once
    each = (F.shiftright(check, 8 * place) if place else check for place in range(4))
    lowest, *others = (_told(place)[byte.bitwiseAND(F.lit(_BYTE - 1))] for place, byte in enumerate(each))
    return reduce(lambda found, part: found.bitwiseXOR(part), others, lowest)


def long_at(data: Column, at: Column) -> Column:
    """The signed number of eight bytes."""
    return F.shiftleft(word_at(data, at), 32).bitwiseOR(word_at(data, at + 4))


def _told(place: int) -> Column:
    """A part, in one literal that Spark reads as it plans: an array of so many would be a plan of thousands."""
    numbers = F.split(F.lit(",".join(map(str, parts()[place]))), ",")
    return numbers.cast(ArrayType(LongType(), containsNull=False))


@cache
def parts() -> tuple[list[int], ...]:
    """What each of the four bytes of a check sum, the lowest first, says of its word."""
    nothing = _undone(0)
    lowest = [_undone(value) for value in range(_BYTE)]
    others = ([_undone(value << 8 * place) ^ nothing for value in range(_BYTE)] for place in (1, 2, 3))
    return lowest, *others


def _undone(check: int) -> int:
    """The word with this check sum: each step of the CRC, undone."""
    state = check ^ _ONES
    for _ in range(32):
        state = ((state ^ _POLYNOMIAL) << 1 | 1) & _ONES if state >> 31 else state << 1
    return int.from_bytes((state ^ _ONES).to_bytes(4, "little"), "big")
