"""When recorded things began and ended: also those that ended at a keyframe, of which no row says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame


def begins(key: Sequence[str]) -> Column:
    """Whether a row begins the life of a thing: it is the first, follows one that says gone, or was not in a keyframe.

    Of `whole` rows.
    """
    order = Window.partitionBy(*key).orderBy("poll")
    kept = F.col("segment") == F.lag("segment").over(order)
    renewed = (F.col("segment") == F.lag("segment").over(order) + 1) & (F.col("poll") == F.col("keyframe"))
    return ~F.coalesce(~F.lag("gone").over(order) & (kept | renewed), F.lit(False))


def with_lives(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Number the `life` of each thing."""
    rows = rows.withColumn("begins", begins(key).cast("int"))
    return rows.withColumn("life", F.sum("begins").over(Window.partitionBy(*key).orderBy("poll")))


def vanishes(key: Sequence[str]) -> Column:
    """Whether a row is the last of its thing although it does not say so: the next keyframe does not have it.

    It ends then at `next_keyframe`. Of `whole` rows.
    """
    order = Window.partitionBy(*key).orderBy("poll")
    in_segment = F.lead("keyframe").over(order) == F.col("keyframe")
    taken_up = F.lead("poll").over(order) == F.col("next_keyframe")
    known = F.coalesce(in_segment | taken_up, F.lit(False))
    return F.col("next_keyframe").isNotNull() & ~F.col("gone") & ~known
