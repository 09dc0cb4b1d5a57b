"""The cluster dialog: the clusters that can be opened; the one chosen takes the place of the one on the screen."""

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
from kgtui.tui.widgets.header import colour_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from kgtui.tui.session import ClusterChoice, Session

Piece = tuple[str, str]
"""Harmless words and the style they are in."""

EXAMPLE = """\
  default = "staging"
  [clusters.staging]
  bootstrap = "broker-1.example:9092"
  command_config = "/etc/kafka/client.properties"   # Java's keys
  environment = "PROD"    # a label; also: color, read_only
"""
"""What to write into `config.toml`."""

WIDEST = 100
FRAME = 6  # border, padding and scrollbar


class ClusterDialog(ModalScreen["Session | None"]):
    """Every cluster by name; dismissed with a session on the one chosen, or None to stay."""

    DEFAULT_CSS = f"""
    ClusterDialog {{
        align: center middle;
        & #box {{
            width: {WIDEST}; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }}
        & OptionList {{
            height: auto; max-height: 14; border: none; padding: 0; background: $surface; scrollbar-size-vertical: 1;
            &:focus {{ border: none; }}
        }}
        & #columns {{ height: 1; color: $kg-muted; text-style: bold; }}
        & #none {{ height: auto; }}
        & #status {{ display: none; height: auto; max-height: 6; color: $kg-error; margin-top: 1; }}
        & #status.-said {{ display: block; }}
        & #hint {{ height: auto; color: $kg-muted; margin-top: 1; }}
    }}
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,c", "dismiss", "Stay", show=False),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]
    """
    | key | does |
    |---|---|
    | up, k / down, j | one row |
    | enter | open the cluster |
    | escape, q, c | stay |
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    @property
    def choices(self) -> OptionList:
        """The list."""
        return self.query_one(OptionList)

    def compose(self) -> ComposeResult:
        """The clusters, or what to write where."""
        session = self._session
        with Vertical(id="box") as box:
            box.border_title = "Clusters"
            if session.clusters:
                yield Static(id="columns", markup=False)
                yield OptionList(markup=False)
                yield Static(id="status", markup=False)
                stays = f"esc stays on {text.plain(session.target.name, 32)}" if session.monitor else "esc closes"
                yield Static(f"enter opens {text.marks().dot} {stays}", id="hint", markup=False)
            else:
                where = text.plain(str(session.config_file)) if session.config_file else "config.toml"
                yield Static(f"No cluster is configured. Name yours in {where}:\n\n{EXAMPLE}", id="none", markup=False)
                yield Static("Start kgtui again after that. esc closes.", id="hint", markup=False)

    def on_mount(self) -> None:
        """The cursor stands on the cluster that is open."""
        if not self._session.clusters:
            return
        self._write()
        names = [choice.name for choice in self._session.clusters]
        open_one = self._session.target.name
        self.choices.highlighted = names.index(open_one) if open_one in names else 0
        self.choices.focus()

    def on_resize(self) -> None:
        """Columns for the new width."""
        if self._session.clusters:
            # A layout asked for while this one is under way would be lost.
            self.call_after_refresh(self._write)

    def _write(self) -> None:
        session, choices = self._session, self.choices
        width = min(WIDEST, int(self.app.size.width * 0.98)) - FRAME
        at = choices.highlighted
        heading, *lines = cluster_lines(session.clusters, session.target.name, width)
        self.query_one("#columns", Static).update(heading)
        choices.clear_options()
        choices.add_options([Option(line) for line in lines])
        choices.highlighted = at

    def action_move(self, where: str) -> None:
        """One row up or down."""
        if self._session.clusters:
            (self.choices.action_cursor_down if where == "down" else self.choices.action_cursor_up)()

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
        opening = self._session.open_cluster
        if opening is None:
            return
        try:
            session = await opening(name)
        except KgtuiError as error:
            status = self.query_one("#status", Static)
            status.update(Content(text.plain(" ".join(str(error).split()), 500)))
            status.add_class("-said")
            return
        self.dismiss(session)


def cluster_lines(clusters: Sequence[ClusterChoice], open_one: str, width: int) -> list[Content]:
    """A heading and a line a cluster: a mark on the open one, name and label as the header wears them, the rest."""
    badges = [_badge(choice) for choice in clusters]
    badge_width = min(max(7, *(cell_len(words) for words, _ in badges)), max(16, width // 2))
    colour_width = max((min(cell_len(text.plain(choice.color or "", 12)), 12) for choice in clusters), default=0)
    writes_width = 9 if any(choice.read_only for choice in clusters) else 0
    room = width - badge_width - 3 - sum(one + 2 for one in (colour_width, writes_width) if one)
    titles = [(colour_width, "COLOUR"), (writes_width, "WRITES"), (room, "ADDRESS")]
    head = "   CLUSTER".ljust(badge_width + 3) + "".join(f"  {text.pad(word, size)}" for size, word in titles if size)
    lines = [Content(head)]
    for choice, (words, style) in zip(clusters, badges, strict=True):
        mark = text.marks().marked if choice.name == open_one else " "
        fitted = text.fit(words, badge_width)
        pieces: list[Piece | str] = [(f" {mark} ", "$kg-accent"), (fitted, style)]
        rest = " " * (badge_width - cell_len(fitted))
        if colour_width:
            rest += f"  {text.pad(text.plain(choice.color or '', colour_width), colour_width)}"
        if writes_width:
            rest += f"  {text.pad('read-only' if choice.read_only else '', writes_width)}"
        pieces += [rest, f"  {text.plain(choice.bootstrap, max(room, 8), cut='middle')}"]
        lines.append(Content.assemble(*pieces))
    return lines


def _badge(choice: ClusterChoice) -> Piece:
    label = f" {text.plain(choice.environment, 12)}" if choice.environment else ""
    colour = colour_of(choice.color)
    style = f"bold {colour.get_contrast_text(1.0).hex6} on {colour.hex6}" if colour is not None else "bold"
    return f" {text.plain(choice.name, 32, cut='middle')}{label} ", style
