"""The tables of a lake, as one plain definition from which Arrow and Spark schemas are made. Standard library alone.

`definition` has what a table is made of, and one module a layer its tables: `recorded` (by polls), `bronze` (records
of `__consumer_offsets` as bytes), `silver` (decoded), `gold` (what follows).
"""

from __future__ import annotations

from kgtui.lake.schemas.bronze_silver import (
    BRONZE,
    COMMITS,
    COORDINATOR_RECORDS,
    GROUP_EVENTS,
    QUARANTINE,
    REBALANCES,
    SILVER,
)
from kgtui.lake.schemas.definition import PARTITION, SETTINGS, SUPERSEDED_HOURS, VERSION, Column, Layer, Table, Type
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, GOLD, HEALTH, LAG
from kgtui.lake.schemas.recorded import FAULTS, GROUPS, LAYER, MEMBERS, PARTITIONS, POLLS, TABLES

__all__ = [
    "BASELINE",
    "BRONZE",
    "CHURN",
    "CLEANUP",
    "COMMITS",
    "COORDINATOR_RECORDS",
    "FAULTS",
    "FORECAST",
    "GOLD",
    "GROUPS",
    "GROUP_EVENTS",
    "HEALTH",
    "LAG",
    "LAYER",
    "MEMBERS",
    "PARTITION",
    "PARTITIONS",
    "POLLS",
    "QUARANTINE",
    "REBALANCES",
    "SETTINGS",
    "SILVER",
    "SUPERSEDED_HOURS",
    "TABLES",
    "VERSION",
    "Column",
    "Layer",
    "Table",
    "Type",
]
