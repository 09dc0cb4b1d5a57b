"""The dialog in which the user chooses the columns of the group tree. Each choice is applied immediately."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from kgtui.model.defaults import TREE_COLUMNS
from kgtui.tui import text
from kgtui.tui.tree.columns import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult


class ColumnsDialog(ModalScreen[None]):
    """Lists all columns of the group tree. `[x]` marks the chosen columns.

    Args:
        columns: ids of the chosen columns, the most important first. The tree leaves out a column if it does not fit
            beside the more important columns.
        choose: function that is called after each change, with the ids of the chosen columns.
    """

    DEFAULT_CSS = """
    ColumnsDialog {
        align: center middle;
        & #box {
            width: 76; max-width: 98%; height: auto; max-height: 96%;
            background: $surface; border: round $kg-accent; border-title-color: $kg-accent; padding: 0 1;
        }
        & OptionList {
            height: auto; max-height: 14; border: none; padding: 0; background: $surface;
            text-wrap: nowrap; text-overflow: ellipsis;
            &:focus { border: none; }
        }
        & #hint { height: auto; color: $kg-muted; margin-top: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,C", "dismiss", "Close", show=False),
        Binding("space", "toggle_column", "Show or hide", show=False),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]
    """
    | key | does |
    |---|---|
    | up, k / down, j | move one row |
    | space, enter | show or hide the column |
    | escape, q, C | close |
    """

    def __init__(self, columns: tuple[str, ...], choose: Callable[[tuple[str, ...]], None]) -> None:
        super().__init__()
        self._columns = columns
        self._choose = choose

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = "Columns of the tree"
            yield OptionList(*(Option(self._row(column), id=column) for column in TREE_COLUMNS), markup=False)
            keys = f" {text.marks().dot} ".join(("space show or hide", "esc close"))
            hint = f"The tree leaves out a column that does not fit beside the columns above it in this list.\n{keys}"
            yield Static(hint, id="hint", markup=False)

    def _row(self, column: str) -> Content:
        sign = "[x]" if column in self._columns else "[ ]"
        return Content(f"{sign} {column:<8} {COLUMNS[column].meaning}")

    @on(OptionList.OptionSelected)
    def _option_selected(self) -> None:
        self.action_toggle_column()

    def action_toggle_column(self) -> None:
        """Show the column under the cursor, or hide it."""
        options = self.query_one(OptionList)
        column = TREE_COLUMNS[options.highlighted or 0]
        if column in self._columns:
            self._columns = tuple(one for one in self._columns if one != column)
        else:
            # Insert the new column before the first chosen column that comes later in the default order.
            later = TREE_COLUMNS[TREE_COLUMNS.index(column) :]
            at = next((index for index, one in enumerate(self._columns) if one in later), len(self._columns))
            self._columns = (*self._columns[:at], column, *self._columns[at:])
        options.replace_option_prompt_at_index(options.highlighted or 0, self._row(column))
        self._choose(self._columns)

    def action_move(self, direction: str) -> None:
        """Move the cursor `up` or `down` by one row."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if direction == "down" else options.action_cursor_up()
