"""Tests of counts in texts, such as "1 group" and "3,121 groups": singular, plural and thousands separators."""

from __future__ import annotations

import pytest

from kgtui.model.explanation import explain_offsets
from kgtui.model.number_format import counted
from kgtui.model.offsets import CommittedOffset, GroupOffsets


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 groups"), (1, "1 group"), (2, "2 groups"), (3_121, "3,121 groups"), (10**6, "1,000,000 groups")],
)
def test_a_count_is_followed_by_its_noun_in_the_singular_or_plural(count: int, text: str) -> None:
    assert counted(count, "group") == text


def test_irregular_plural_is_used_for_every_count_other_than_1() -> None:
    assert [counted(number, "batch", "batches") for number in (0, 1, 2)] == ["0 batches", "1 batch", "2 batches"]


def test_partition_count_in_an_explanation_has_a_thousands_separator() -> None:
    rows = tuple(CommittedOffset("t", partition, None) for partition in range(1_200))
    (found,) = explain_offsets(GroupOffsets(rows))
    assert found.title == "no commit, 1,200 partitions"
