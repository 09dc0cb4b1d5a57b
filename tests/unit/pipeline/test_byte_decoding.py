"""Test of `crc32_inverse_tables`: with these lookup tables, four bytes are computed from their CRC-32 checksum."""

from __future__ import annotations

from random import Random
from zlib import crc32

from kgtui.pipeline.transforms.offset_commits import crc32_inverse_tables


def test_any_four_bytes_can_be_computed_from_their_crc32_checksum() -> None:
    random = Random(32)
    for number in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, *(random.getrandbits(32) for _ in range(2_000))):
        checksum = crc32(number.to_bytes(4, "big"))
        result = 0
        for index, table in enumerate(crc32_inverse_tables()):
            result ^= table[checksum >> 8 * index & 0xFF]
        assert result == number
