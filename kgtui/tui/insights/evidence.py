"""The table on the Insights screen that shows the evidence of a finding (a problem of groups)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from kgtui.model.health.wording import duration
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.cells import Cell, SafeText, none_cell
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from kgtui.insights.finding import Evidence, Value

_SECONDS = "_seconds"


class EvidenceRow(NamedTuple):
    """One row of the evidence for a finding (a problem of groups). Rows are identified by their number, from 0."""

    number: int
    values: tuple[Value, ...]


class EvidenceTable(LineTable[EvidenceRow]):
    """Shows the evidence of a finding: the rows that prove the problem, from a gold table (computed by Spark)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.choose", "Go to the group", id="open", show=False)
    ]
    """
    | key | does |
    |---|---|
    | enter | close the screen and move the tree's cursor to the group |
    """

    def __init__(self) -> None:
        super().__init__((), lambda row: row.number, id="facts")

    def show(self, evidence: Evidence | None) -> None:
        """Show the evidence, or an empty table if `evidence` is None."""
        if evidence is None:
            self.set_rows((), fresh=True)
        else:
            self.set_rows(evidence_rows(evidence), columns=evidence_columns(evidence), fresh=True)


def evidence_rows(evidence: Evidence) -> list[EvidenceRow]:
    """Return the rows of the evidence, numbered from 0, for the table widget."""
    return [EvidenceRow(number, row) for number, row in enumerate(evidence.rows)]


def evidence_columns(evidence: Evidence) -> tuple[Column[EvidenceRow], ...]:
    """Return the columns of the table widget: one for each column of the evidence."""
    return tuple(_column(evidence, index, name) for index, name in enumerate(evidence.columns))


def evidence_title(evidence: Evidence) -> str:
    """Return the title above the evidence, such as `evidence: 20 rows of gold/health, and 5 more that are not shown`.

    `gold/health` is the name of a table.
    """
    more = f", and {text.exact(evidence.more)} more that are not shown" if evidence.more else ""
    return f"evidence: {counted(len(evidence.rows), 'row')} of {evidence.table}{more}"


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
        return Cell(SafeText(text.date_minutes(value.timestamp())))
    if isinstance(value, bool):
        return Cell(SafeText("yes" if value else "no"))
    if isinstance(value, str):
        return Cell(value)
    if name.endswith(_SECONDS):
        return Cell(SafeText(duration(value)))
    return Cell(SafeText(text.exact(value) if isinstance(value, int) else f"{value:,.2f}"))
