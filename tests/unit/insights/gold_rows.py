"""Functions for tests that make rows of gold tables from a few given values, and write them to a lake.

A lake is a folder of Delta tables. Its gold tables contain the results of `kgtui pipeline`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, GOLD, HEALTH, LAG

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.lake.schemas import Table

NOW = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)

_NOT_NULL: dict[str, Any] = {
    "string": "recorded", "boolean": False, "long": 0, "int": 0, "double": 0.0, "date": NOW.date(), "timestamp": NOW,
}  # fmt: skip
_TIMES = {LAG: "minute", HEALTH: "window_start", CHURN: "hour", FORECAST: "hour", BASELINE: "hour"}


def row(table: Table, **values: Any) -> dict[str, Any]:
    """Return a row of a gold table (a result of `kgtui pipeline`) with the given values of columns.

    Most other columns are null, or have a fixed value if they are not nullable. The columns `covered_from` and
    `covered_to` get a time range that ends at `NOW`, and `day` gets the day of the row.
    """
    unknown = values.keys() - set(table.names)
    assert not unknown, unknown
    made: dict[str, Any] = {
        column.name: None if column.nullable else _NOT_NULL[column.type] for column in table.columns
    }
    made |= {"covered_from": NOW - (24 if table is HEALTH else 1) * HOUR, "covered_to": NOW, **values}
    made["day"] = made[_TIMES.get(table, "covered_to")].date()
    return made


def write(path: Path, rows: dict[Table, list[dict[str, Any]]]) -> Path:
    """Create a lake (a folder of Delta tables) at `path`, add `rows` to its gold tables, and return `path`."""
    folder = LakeFolder.of(path)
    folder.prepare()
    for table in GOLD:
        made = pa.Table.from_pylist(rows.get(table, []), schema=arrow_schema(table))
        place = str(folder.table(table.name, table.layer))
        load_deltalake().write_deltalake(place, made, partition_by=["day"], mode="append")
    return path


def lag_rows(group: str, *, minutes: int = 60, lag: int = 1_000, **values: Any) -> list[dict[str, Any]]:
    """Return rows of the table `lag` for one group: one row per minute, the last one at `NOW`.

    Args:
        minutes: number of rows.
        lag: lag in the last row, in records. In each earlier row, the lag is lower by 1 than in the next row.
        values: values of other columns, the same in all rows.
    """
    return [
        row(
            LAG, group=group, minute=NOW - timedelta(minutes=back), lag=lag - back, rate_in=2.0, rate_out=1.5,
            time_lag=300.0, members=3, state="Stable", steady_since=NOW - 24 * HOUR, **values,
        )
        for back in reversed(range(minutes))
    ]  # fmt: skip


def rows_with_problems() -> dict[Table, list[dict[str, Any]]]:
    """Return rows for every gold table. They cause at least one finding (reported problem) of each kind."""
    old = NOW - 4 * HOUR
    return {
        LAG: [*lag_rows("pay"), *lag_rows("fraud"), *lag_rows("fill"), *lag_rows("calm", lag=59)],
        HEALTH: [
            row(HEALTH, group="pay", window_start=NOW, status="ERR", worst="STOP", affected=2, bad_since=old,
                lag=1_000),
            row(HEALTH, group="pay", topic="t", partition=0, window_start=NOW, status="STOP", lag=300, bad_since=old),
            row(HEALTH, group="pay", topic="t", partition=1, window_start=NOW, status="STOP", lag=700, bad_since=old),
            row(HEALTH, group="calm", window_start=NOW, status="OK", worst="OK", affected=0, lag=59),
            row(HEALTH, group="was-ill", window_start=NOW - HOUR, status="ERR", worst="STALL", affected=1, lag=9),
        ],
        FORECAST: [
            row(FORECAST, group="fraud", hour=NOW, lag=1_000, at_risk=True, loss_seconds=7_200.0, lost=0, trend=1.0),
            row(FORECAST, group="fraud", topic="t", partition=3, hour=NOW, lag=1_000, at_risk=True, lead=9),
            row(FORECAST, group="fill", hour=NOW, lag=1_000, drain_seconds=5_400.0, at_risk=False, lost=0, trend=-1.0),
        ],
        CHURN: [
            row(CHURN, group="restless", hour=NOW - back * HOUR, rebalances=18, per_hour=18.0, flapping=True,
                rebalancing_seconds=600.0, burst_since=NOW - 2.2 * HOUR, last_rebalance=NOW - back * HOUR)
            for back in range(3)
        ],
        BASELINE: [
            row(BASELINE, group="calm", hour=NOW, rate_in=50.0, rate_in_normal=10.0, rate_in_spread=1.0,
                rate_in_deviation=27.0, basis="hour of day", hours=3),
        ],
        CLEANUP: [
            row(CLEANUP, kind="family", name="perf.*", groups=2, lag=10, quiet_since=NOW - 72 * HOUR, partitions=2),
            row(CLEANUP, kind="group", name="perf.a", family="perf.*", groups=1, state="Empty", quiet_since=old),
            row(CLEANUP, kind="group", name="perf.b", family="perf.*", groups=1, state="Empty", quiet_since=old),
            row(CLEANUP, kind="group", name="tmp", groups=1, state="Empty", quiet_since=old,
                expires_at=NOW + 24 * HOUR),
        ],
    }  # fmt: skip
