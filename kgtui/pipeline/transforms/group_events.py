"""Which of a group's records began it: what one record alone does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas import GROUP_EVENTS
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_created(events: DataFrame) -> DataFrame:
    """All events of some groups, with `created` told.

    A group begins with its first record after a tombstone, and with the first of all if that has epoch 0 or 1; of
    another first record nothing is known, since what was before it may have been compacted away.
    """
    order = Window.partitionBy("record_partition", "group").orderBy("record_offset")
    before = F.lag("tombstone").over(order)
    created = F.when(before.isNotNull(), before & ~F.col("tombstone"))
    created = created.otherwise(F.when(F.col("tombstone"), F.lit(False)).when(F.col("epoch") <= 1, F.lit(True)))
    told = events.where("about = 'group'").withColumn("created", created)
    rest = events.where("about <> 'group'").withColumn("created", F.lit(None).cast("boolean"))
    return told.unionByName(rest).transform(conform, GROUP_EVENTS)
