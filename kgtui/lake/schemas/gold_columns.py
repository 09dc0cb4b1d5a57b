"""Columns that several gold tables have in common, and the possible values of column `source` of these tables."""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column

RECORDED, SILVER, BOTH = "recorded", "silver", "recorded, silver"
"""Values of column `source`: whether a row was computed from recorded tables, from silver tables, or from both."""

DAY = Column(PARTITION, "date", "UTC day of the start of the period that the row describes", nullable=False)
GROUP = Column("group", "string", "group id", nullable=False)
TOPIC = Column("topic", "string", "topic of the partition; null in rows about the whole group")
PARTITION_INDEX = Column("partition", "int", "index of the partition in its topic; null in rows about the whole group")
LEAD = Column(
    "lead",
    "long",
    "number of records from the log start offset to the group's offset; for the whole group, the smallest value of its "
    "partitions; null if unknown",
)
LOST = Column(
    "lost",
    "long",
    "number of records that retention deleted before the group read them; for the whole group, the sum over its "
    "partitions; null if unknown",
)


def covered(covered_time: str, *, nullable: bool = False) -> tuple[Column, ...]:
    """Return columns `source`, `covered_from` and `covered_to`.

    Args:
        covered_time: text for the period that a row covers, such as `time covered by the polls`. In the descriptions of
            the columns, it follows `start of the` (`covered_from`) and `end of the` (`covered_to`).
        nullable: whether columns `covered_from` and `covered_to` can be null.
    """
    layers = "layers from which the row was computed: `recorded`, `silver` or `recorded, silver`"
    return (
        Column("source", "string", layers, nullable=False),
        Column("covered_from", "timestamp", f"start of the {covered_time}", nullable=nullable),
        Column("covered_to", "timestamp", f"end of the {covered_time}", nullable=nullable),
    )


HIDDEN = Column(
    "offsets_may_be_hidden",
    "boolean",
    "true if offsets may be missing, because the Kafka user of the recorder is not allowed to see every topic; "
    "the group may then have more lag and newer commits; null if unknown, and in rows about a partition",
)
