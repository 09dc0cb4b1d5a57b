"""Tests of `SparkLake` that need no Spark session."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from kgtui.pipeline.spark_lake import _repeat_on_conflict


@pytest.mark.parametrize(
    ("message", "times"), [("[DELTA_CONCURRENT_DELETE_READ] a file was removed", 5), ("[OTHER] failed", 1)]
)
def test_writes_to_delta_tables_are_repeated_after_a_write_conflict(message: str, times: int) -> None:
    calls: list[None] = []

    def write() -> None:
        calls.append(None)
        raise PySparkException(message)

    with pytest.raises(PySparkException):
        _repeat_on_conflict(write)
    assert len(calls) == times
