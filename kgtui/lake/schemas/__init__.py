"""Schemas of all tables of a lake, from which Arrow and Spark schemas are built.

| module | contents |
|---|---|
| `recorded` | tables that the recorder writes |
| `bronze_silver` | raw and decoded records of `__consumer_offsets` |
| `gold` | tables that the pipeline computes |
| `gold_forecasts` | gold tables `forecast` and `baseline` |
| `gold_columns` | columns that several gold tables have in common |
| `definition` | classes `Table` and `Column` |

This package imports only the standard library, because Spark executors import it too.
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
from kgtui.lake.schemas.definition import FILE_BYTES, PARTITION, SUPERSEDED_HOURS, VERSION, Column, Layer, Table, Type
from kgtui.lake.schemas.gold import (
    BASELINE,
    CHURN,
    CLEANUP,
    FORECAST,
    FORECAST_STATE,
    GOLD,
    GOLD_STATE,
    HEALTH,
    HEALTH_STATE,
    LAG,
)
from kgtui.lake.schemas.recorded import FAULTS, GROUPS, LAYER, MEMBERS, PARTITIONS, POLLS, TABLES

__all__ = [
    "BASELINE",
    "BRONZE",
    "CHURN",
    "CLEANUP",
    "COMMITS",
    "COORDINATOR_RECORDS",
    "FAULTS",
    "FILE_BYTES",
    "FORECAST",
    "FORECAST_STATE",
    "GOLD",
    "GOLD_STATE",
    "GROUPS",
    "GROUP_EVENTS",
    "HEALTH",
    "HEALTH_STATE",
    "LAG",
    "LAYER",
    "MEMBERS",
    "PARTITION",
    "PARTITIONS",
    "POLLS",
    "QUARANTINE",
    "REBALANCES",
    "SILVER",
    "SUPERSEDED_HOURS",
    "TABLES",
    "VERSION",
    "Column",
    "Layer",
    "Table",
    "Type",
]
