"""Words out of their check sums: what each byte of a check sum says of the word is right for every word."""

from __future__ import annotations

from random import Random
from zlib import crc32

from kgtui.pipeline.transforms.byte_decoding import crc32_inverse_tables


def test_four_parts_of_a_check_sum_are_the_word() -> None:
    random = Random(32)
    for word in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, *(random.getrandbits(32) for _ in range(2_000))):
        check = crc32(word.to_bytes(4, "big"))
        found = 0
        for place, part in enumerate(crc32_inverse_tables()):
            found ^= part[check >> 8 * place & 0xFF]
        assert found == word
