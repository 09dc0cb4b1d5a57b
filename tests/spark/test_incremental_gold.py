"""Gold rows that are computed only from a time on are equal to the rows of a run that computes everything."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import LAG, MEMBERS, REBALANCES
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from kgtui.pipeline.transforms.lag import lag
from kgtui.pipeline.transforms.recorded_state import is_since
from tests.spark.random_recording import random_recording
from tests.spark.recorded_rows import frame, ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 20))]


@pytest.mark.parametrize("seed", SEEDS)
def test_lag_from_a_time_on_equals_the_lag_of_a_complete_run(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    tables = random_recording(random, 80).frames(spark)
    since = ms(60 * random.randint(5, 22))
    complete = lag(*tables).filter(is_since("minute", since)).cache()
    assert complete.filter("time_lag > 300").count() > 0
    assertDataFrameEqual(lag(*tables, since=since), complete)


@pytest.mark.parametrize("seed", SEEDS)
def test_churn_from_an_hour_on_equals_the_churn_of_a_complete_run(spark: SparkSession, seed: int) -> None:
    recording = random_recording(Random(seed), 250)
    timeline, groups, partitions, _ = recording.frames(spark)
    members = frame(spark, MEMBERS, recording.members)
    rebalances, lag_rows = frame(spark, REBALANCES, []), frame(spark, LAG, [])
    since = ms(3_600)
    complete = churn(timeline, recorded_churn(timeline, groups, members, partitions), rebalances, lag_rows).cache()
    earlier, expected = complete.filter(~is_since("hour", since)), complete.filter(is_since("hour", since))
    assert expected.filter("burst_since < hour AND partitions_moved > 0").count() > 0
    recorded = recorded_churn(timeline, groups, members, partitions, since=since)
    assertDataFrameEqual(churn(timeline, recorded, rebalances, lag_rows, before=earlier, since=since), expected)
