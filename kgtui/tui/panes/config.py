"""The Config pane: the group's configuration and the source of each value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kgtui.model.group_types import GROUP_TYPES, may_have_configs
from kgtui.model.number_format import counted
from kgtui.tui import text
from kgtui.tui.panes.base import Notice, Pane, SummaryLine, join_with_dots
from kgtui.tui.panes.cells import ACCENT, MUTED, Cell, PaneLine
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.row_detail import DetailedTable
from kgtui.tui.panes.table import LineTable

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from kgtui.model.command_line import View
    from kgtui.model.group import GroupConfig
    from kgtui.model.snapshot import Snapshot

_SOURCES = {
    "DYNAMIC_GROUP_CONFIG": "this group",
    "GROUP_CONFIG": "this group",
    "DYNAMIC_BROKER_CONFIG": "broker, dynamic",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "cluster, dynamic",
    "STATIC_BROKER_CONFIG": "broker file",
    "DEFAULT_CONFIG": "default",
}
NO_CONFIGS = "Classic groups have no configs on the broker; they are configured in their clients."
_OF_GROUP = frozenset({"DYNAMIC_GROUP_CONFIG", "GROUP_CONFIG"})


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One group configuration, such as `consumer.session.timeout.ms`.

    Attributes:
        config: name, value, and source of the value.
        applies: whether the configuration has an effect on the group. For example, `share.heartbeat.interval.ms` has no
            effect on a consumer group.
    """

    config: GroupConfig
    applies: bool


def config_rows(configs: tuple[GroupConfig, ...], group_type: str | None) -> list[ConfigRow]:
    """Return one row per configuration that has an effect on the group, or that is set for this group.

    The configurations that are set for this group come first.
    """
    rows = (ConfigRow(one, _applies(one.name, group_type)) for one in configs)
    shown = (row for row in rows if row.applies or row.config.source in _OF_GROUP)
    return sorted(shown, key=lambda row: (row.config.source not in _OF_GROUP, not row.applies, row.config.name))


def _applies(name: str, group_type: str | None) -> bool:
    prefix = name.partition(".")[0]
    other = GROUP_TYPES.get(prefix)
    return group_type is None or prefix == group_type or other is None or not other.has_configs


def _name(row: ConfigRow) -> Cell:
    return Cell(row.config.name, "" if row.applies else MUTED)


def value_of(config: GroupConfig) -> str | None:
    """Return the value of a configuration; None if the broker did not report it. A sensitive value is `(hidden)`."""
    return "(hidden)" if config.sensitive else config.value


def _value(row: ConfigRow) -> Cell:
    value = value_of(row.config)
    if value is None:
        return Cell("(not reported)", MUTED)
    if value == "":
        return Cell('""', MUTED)
    return Cell(value, ACCENT if row.config.source in _OF_GROUP else "")


def source_text(source: str) -> str:
    """Return a short name for the source of a configuration, such as `broker file` for `STATIC_BROKER_CONFIG`."""
    return _SOURCES.get(source, source.lower().replace("_", " "))


def _source(row: ConfigRow) -> Cell:
    return Cell(source_text(row.config.source), ACCENT if row.config.source in _OF_GROUP else MUTED)


def _synonyms(row: ConfigRow) -> str | None:
    shown = [
        f"{name}={'(hidden)' if row.config.sensitive else value} ({source_text(source)})"
        for name, value, source in row.config.synonyms
        if (name, source) != (row.config.name, row.config.source)
    ]
    return f" {text.marks().arrow} ".join(shown) or None


COLUMNS: list[Column[ConfigRow]] = [
    Column("name", "CONFIG", lambda row: row.config.name, _name, min_width=24, max_width=44, cut="middle"),
    Column("value", "VALUE", lambda row: value_of(row.config) or "(not reported)", _value, min_width=8, max_width=32),
    Column("source", "FROM", lambda row: source_text(row.config.source), _source, rank=1, min_width=10, max_width=20),
    Column("type", "TYPE", lambda row: row.config.type, lambda row: Cell((row.config.type or "?").lower(), MUTED),
           rank=3, min_width=6),
    Column("fallback", "FALLBACK", _synonyms, lambda row: Cell(_synonyms(row) or "", MUTED), rank=4, min_width=16,
           max_width=60),
    Column("documentation", "ABOUT", lambda row: row.config.documentation or None,
           lambda row: Cell(row.config.documentation or "", MUTED), rank=5, min_width=16, max_width=60),
]  # fmt: skip


class ConfigPane(Pane):
    """Pane with one row per configuration of the group. The user cannot change configurations here."""

    reading_field: ClassVar[str] = "configs"
    reading_name: ClassVar[str] = "the configuration"
    tool_view: ClassVar[View] = "configs"

    def compose(self) -> ComposeResult:
        yield Notice()
        yield SummaryLine()
        yield DetailedTable(LineTable[ConfigRow](COLUMNS, lambda row: row.config.name, id="config-table"))

    @property
    def table(self) -> LineTable[ConfigRow]:
        return self.query_one("#config-table", LineTable)

    def focus_target(self) -> Widget:
        return self.table

    def draw_inputs(self, snapshot: Snapshot, group: str) -> tuple[object, ...]:
        return (snapshot.configs.get(group), snapshot.groups.get(group))

    def prepare(self, snapshot: Snapshot, group: str) -> list[ConfigRow] | None:
        reading, listing = snapshot.configs.get(group), snapshot.groups.get(group)
        if reading is None or (reading.fault is not None and not reading.value):
            return None
        return config_rows(reading.value, listing.type if listing is not None else None)

    def draw(self, prepared: list[ConfigRow] | None, *, fresh: bool) -> None:
        if prepared is None:
            self.clear()
            return
        rows = prepared
        self.table.set_rows(rows, fresh=fresh)
        own = sum(1 for row in rows if row.config.source in _OF_GROUP)
        parts: list[PaneLine] = [(Cell(f"{counted(own, 'config')} set for this group", ACCENT if own else MUTED),)]
        parts.append((Cell(f"{counted(len(rows) - own, 'config')} from brokers and defaults", MUTED),))
        self.query_one(SummaryLine).set_cells(join_with_dots(parts))

    def _set_placeholder(self, content: str) -> None:
        listing = None if self.snapshot is None or self.group is None else self.snapshot.groups.get(self.group)
        without = listing is not None and not may_have_configs(listing.type)
        super()._set_placeholder(NO_CONFIGS if without else content)

    def clear(self) -> None:
        self.table.set_rows((), fresh=True)
        self.query_one(SummaryLine).set_cells(())
