"""When recorded things began and ended: also those that ended at a keyframe, of which no row says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.recorded import anchored, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def with_lives(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Number the `life` of each thing within a stretch without a gap.

    Args:
        rows: `whole`, of things that may have come back.
    """
    order = Window.partitionBy(*key, "steady_since").orderBy("poll")
    kept = F.col("segment") == F.lag("segment").over(order)
    renewed = (F.col("segment") == F.lag("segment").over(order) + 1) & (F.col("poll") == F.col("keyframe"))
    follows = ~F.lag("gone").over(order) & (kept | renewed)
    rows = rows.withColumn("begins", (~F.coalesce(follows, F.lit(False))).cast("int"))
    return rows.withColumn("life", F.sum("begins").over(order))


def lived(rows: DataFrame, times: DataFrame, key: Sequence[str]) -> DataFrame:
    """Recorded rows with lives, where each end has a row: `gone` at the keyframe that did not have it any more."""
    known = anchored(rows, times, key)
    later = times.groupBy("segment", "keyframe").agg(F.min_by("steady_since", "poll").alias("later_steady"))
    later = later.select((F.col("segment") - 1).alias("segment"), F.col("keyframe").alias("later"), "later_steady")
    order = Window.partitionBy(*key, "steady_since").orderBy("poll")
    step = F.lead("segment").over(order) - F.col("segment")
    taken_up = (step == 0) | ((step == 1) & (F.lead("poll").over(order) == F.lead("keyframe").over(order)))
    last = known.withColumn("last", ~F.coalesce(taken_up, F.lit(False)) & ~F.col("gone")).filter("last")
    ended = (
        last.join(F.broadcast(later), "segment")
        .filter(F.col("steady_since") == F.col("later_steady"))
        .withColumns({"poll": F.col("later"), "keyframe": F.col("later"), "gone": F.lit(True)})
        .select(*rows.drop("day").columns)
    )
    return known.unionByName(whole(ended, times)).transform(with_lives, key)
