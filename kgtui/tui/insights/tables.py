"""The two tables of the Insights screen, with the keys that the screen acts on."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from kgtui.tui.insights.evidence import Fact
from kgtui.tui.insights.rows import Row
from kgtui.tui.panes.table import LineTable


class FindingTable(LineTable[Row]):
    """The findings by urgency."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.choose", "To the group", id="open", show=False),
        Binding("space", "screen.mark", "Mark", id="mark", show=False),
    ]
    """
    | key | does |
    |---|---|
    | enter | close, with the cursor of the tree on the group |
    | space | mark the groups of a finding about unused ones in the tree, and unmark them |
    """


class FactTable(LineTable[Fact]):
    """The rows that a finding rests on."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.choose", "To the group", id="open", show=False)]
    """
    | key | does |
    |---|---|
    | enter | close, with the cursor of the tree on the group |
    """
