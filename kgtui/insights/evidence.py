"""What findings are made with: the rows that they rest on, and times as findings have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.insights.finding import Evidence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kgtui.lake.gold import GoldRow

MOST_ROWS = 12
"""Rows of evidence; of more, the count is told."""


def evidence_of(table: str, columns: tuple[str, ...], rows: Sequence[GoldRow]) -> Evidence:
    """Columns of the first rows, and how many more there are."""
    told = tuple(tuple(row[name] for name in columns) for row in rows[:MOST_ROWS])
    return Evidence(table, columns, told, max(0, len(rows) - MOST_ROWS))


def seconds_of(moment: datetime | None) -> float | None:
    """Seconds since the epoch."""
    return None if moment is None else moment.timestamp()
