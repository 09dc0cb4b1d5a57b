"""The evidence of a finding: those rows of a table in the lake that led to the finding, as rows of a table widget."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.health.wording import duration
from kgtui.tui import text
from kgtui.tui.panes.cells import Cell, SafeText, none_cell, plural
from kgtui.tui.panes.columns import Column

if TYPE_CHECKING:
    from kgtui.insights.finding import Evidence, Value

_SECONDS = "_seconds"


class EvidenceRow(NamedTuple):
    """One row of evidence. The `number` identifies the row, so that the cursor stays on it."""

    number: int
    values: tuple[Value, ...]


def evidence_rows(evidence: Evidence) -> list[EvidenceRow]:
    """Return the rows for the table widget."""
    return [EvidenceRow(number, row) for number, row in enumerate(evidence.rows)]


def evidence_columns(evidence: Evidence) -> tuple[Column[EvidenceRow], ...]:
    """Return the columns for the table widget. They have the names of the columns in the table of the lake."""
    return tuple(_column(evidence, index, name) for index, name in enumerate(evidence.columns))


def evidence_title(evidence: Evidence) -> str:
    """Return the title above the evidence: number of rows shown, name of the table, and number of rows not shown."""
    more = f", {text.exact(evidence.more)} more" if evidence.more else ""
    return f"evidence: {plural(len(evidence.rows), 'row')} of {evidence.table}{more}"


def _column(evidence: Evidence, index: int, name: str) -> Column[EvidenceRow]:
    values = [row[index] for row in evidence.rows]
    right = any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def cell(row: EvidenceRow) -> Cell:
        return _value(name, row.values[index])

    return Column(
        name, name.removesuffix(_SECONDS).replace("_", " ").upper(), lambda row: cell(row).text, cell,
        rank=index, right=right, min_width=10, max_width=48, cut="middle",
    )  # fmt: skip


def _value(name: str, value: Value) -> Cell:
    if value is None:
        return none_cell()
    if isinstance(value, datetime):
        return Cell(SafeText(text.date(value.timestamp())[:16]))
    if isinstance(value, bool):
        return Cell(SafeText("yes" if value else "no"))
    if isinstance(value, str):
        return Cell(value)
    if name.endswith(_SECONDS):
        return Cell(SafeText(duration(value)))
    return Cell(SafeText(text.exact(value) if isinstance(value, int) else f"{value:,.2f}"))
