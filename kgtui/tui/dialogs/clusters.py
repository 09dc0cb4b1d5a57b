"""The cluster dialog: lists the configured clusters, and opens the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kgtui.errors import KgtuiError
from kgtui.tui import text
from kgtui.tui.dialogs.prompt import StatusLine
from kgtui.tui.themes import parse_color

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.tui.session import ClusterChoice, Session

CONFIG_EXAMPLE = """\
  default = "staging"
  [clusters.staging]
  bootstrap = "broker-1.example:9092"
  command_config = "/etc/kafka/client.properties"   # Java properties
  environment = "STAGE"   # a label; optional, as are color and read_only
"""
"""Example of configured clusters in `config.toml`."""

MAX_WIDTH = 100
"""Maximum width of the dialog, in terminal cells."""
FRAME_WIDTH = 6
"""Total width of the border, the padding and the scroll bar of the dialog, in terminal cells."""


class ClusterDialog(ModalScreen["Session | None"]):
    """Lists the configured clusters.

    The dialog's result is a `Session` of the chosen cluster, or None if the user stays on the open cluster.
    """

    DEFAULT_CSS = f"""
    ClusterDialog {{
        align: center middle;
        & #box {{
            width: {MAX_WIDTH}; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }}
        & OptionList {{
            height: auto; max-height: 14; border: none; padding: 0; background: $surface; scrollbar-size-vertical: 1;
            &:focus {{ border: none; }}
        }}
        & #columns {{ height: 1; color: $kg-muted; text-style: bold; }}
        & #none {{ height: auto; }}
        & StatusLine {{ margin-top: 1; }}
        & #hint {{ height: auto; color: $kg-muted; margin-top: 1; }}
    }}
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,c", "dismiss", "Close", show=False),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]
    """
    | key | does |
    |---|---|
    | up, k / down, j | move one row |
    | enter | open the cluster |
    | escape, q, c | close |
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    @property
    def choices(self) -> OptionList:
        return self.query_one(OptionList)

    def compose(self) -> ComposeResult:
        """Create the list of clusters, or show a configuration example if no cluster is configured."""
        session = self._session
        with Vertical(id="box") as box:
            box.border_title = "Clusters"
            if session.clusters:
                yield Static(id="columns", markup=False)
                yield OptionList(markup=False)
                yield StatusLine()
                stay = f"esc stays on {text.plain(session.target.name, 32)}" if session.monitor else "esc closes"
                yield Static(f"enter opens {text.marks().dot} {stay}", id="hint", markup=False)
            else:
                file = text.plain(str(session.config_file)) if session.config_file else "config.toml"
                message = f"No cluster is configured. Add yours to {file}, for example:\n\n{CONFIG_EXAMPLE}"
                yield Static(message, id="none", markup=False)
                yield Static("Then start kgtui again. esc closes.", id="hint", markup=False)

    def on_mount(self) -> None:
        """Move the cursor to the row of the cluster that is open in kgtui."""
        if not self._session.clusters:
            return
        self._write_rows()
        names = [choice.name for choice in self._session.clusters]
        open_name = self._session.target.name
        self.choices.highlighted = names.index(open_name) if open_name in names else 0
        self.choices.focus()

    def on_resize(self) -> None:
        if self._session.clusters:
            # Write the rows after the resize, because Textual ignores layout requests during a resize.
            self.call_after_refresh(self._write_rows)

    def _write_rows(self) -> None:
        session, choices = self._session, self.choices
        width = min(MAX_WIDTH, int(self.app.size.width * 0.98)) - FRAME_WIDTH
        highlighted = choices.highlighted
        heading, *rows = cluster_rows(session.clusters, session.target.name, width)
        self.query_one("#columns", Static).update(heading)
        choices.clear_options()
        choices.add_options([Option(row) for row in rows])
        choices.highlighted = highlighted

    def action_move(self, direction: str) -> None:
        """Move the cursor one row up or down."""
        if self._session.clusters:
            (self.choices.action_cursor_down if direction == "down" else self.choices.action_cursor_up)()

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        chosen = self._session.clusters[event.option_index]
        if chosen.name == self._session.target.name:
            self.dismiss(None)
        elif self._session.open_cluster is not None:
            self._open(chosen.name)

    @work(exclusive=True, group="open", exit_on_error=False)
    async def _open(self, name: str) -> None:
        open_cluster = self._session.open_cluster
        if open_cluster is None:
            return
        try:
            session = await open_cluster(name)
        except KgtuiError as error:
            self.query_one(StatusLine).show(" ".join(str(error).split()))
            return
        self.dismiss(session)


def cluster_rows(clusters: Sequence[ClusterChoice], open_name: str, width: int) -> list[Content]:
    """Return a heading and one row per cluster. The lines are laid out for `width` terminal cells.

    The row of the open cluster, whose name is `open_name`, begins with a symbol.
    """
    badges = [_badge(choice) for choice in clusters]
    badge_width = min(max(7, *(cell_len(badge) for badge, _ in badges)), max(16, width // 2))
    color_width = max((min(cell_len(text.plain(choice.color or "", 12)), 12) for choice in clusters), default=0)
    writes_width = 9 if any(choice.read_only for choice in clusters) else 0
    address_width = width - badge_width - 3 - sum(column + 2 for column in (color_width, writes_width) if column)
    titles = [(color_width, "COLOR"), (writes_width, "WRITES"), (address_width, "ADDRESS")]
    columns = "".join(f"  {text.pad(title, size)}" for size, title in titles if size)
    rows = [Content("   CLUSTER".ljust(badge_width + 3) + columns)]
    for choice, (badge, style) in zip(clusters, badges, strict=True):
        mark = text.marks().marked if choice.name == open_name else " "
        fitted = text.fit(badge, badge_width)
        rest = " " * (badge_width - cell_len(fitted))
        if color_width:
            rest += f"  {text.pad(text.plain(choice.color or '', color_width), color_width)}"
        if writes_width:
            rest += f"  {text.pad('read-only' if choice.read_only else '', writes_width)}"
        address = f"  {text.plain(choice.bootstrap, max(address_width, 8), cut='middle')}"
        rows.append(Content.assemble((f" {mark} ", "$kg-accent"), (fitted, style), rest, address))
    return rows


def _badge(choice: ClusterChoice) -> tuple[str, str]:
    label = f" {text.plain(choice.environment, 12)}" if choice.environment else ""
    color = parse_color(choice.color)
    style = f"bold {color.get_contrast_text(1.0).hex6} on {color.hex6}" if color is not None else "bold"
    return f" {text.plain(choice.name, 32, cut='middle')}{label} ", style
