"""Read the tables of a lake without Spark, because Spark would use about a second of CPU time per small table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from kgtui.lake.folder import is_table

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.lake.schemas import Table


def stored_rows(lake: Path, table: Table) -> list[dict[str, Any]]:
    """Return all rows of `table` as dicts (column name → value), sorted by their `repr`.

    The list is empty if the table does not exist.
    """
    path = lake / table.layer / table.name
    if not is_table(path):
        return []
    return sorted(DeltaTable(str(path)).to_pyarrow_table().to_pylist(), key=repr)
