"""Ignore keys, clicks and search results at moments when Textual cannot handle them.

- `Screen.dismiss` of Textual 8.2.8 removes the topmost screen, even if it is called on another screen. If the user
  clicks twice outside the command palette, the first click removes the palette, and the second click the screen below.
- An `OptionList` raises `KeyError` if the user presses Page Up or Page Down before the list has been laid out.
- The command palette raises `NoMatches` for a key or a search result while its list widget does not exist.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.screen import Screen
from textual.widgets import OptionList

if TYPE_CHECKING:
    from collections.abc import Callable

_textual_dismiss = Screen.dismiss
_textual_move_page: Callable[[OptionList, Any], None] = OptionList._move_page

METHODS_THAT_NEED_THE_LIST: dict[str, Callable[..., Any]] = {
    name: getattr(CommandPalette, name)
    for name in (
        "_action_command_list",
        "_action_cursor_down",
        "_gather_commands",
        "_watch__list_visible",
        "_watch__show_busy",
    )
}
"""Methods of `CommandPalette` that fail while the palette has no list widget: name → Textual's original method."""


def ignore_input_that_textual_cannot_handle() -> None:
    """Patch methods of Textual, so that they ignore the keys, clicks and search results that they cannot handle."""
    setattr(Screen, "dismiss", _dismiss)  # noqa: B010 - mypy forbids a plain assignment to a method
    setattr(OptionList, "_move_page", _move_page)  # noqa: B010
    for name, method in METHODS_THAT_NEED_THE_LIST.items():
        setattr(CommandPalette, name, only_with_list(method))


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    return _textual_dismiss(screen, result) if screen.is_active else AwaitComplete()


def _move_page(options: OptionList, direction: Any) -> None:
    if options.scrollable_content_region:
        _textual_move_page(options, direction)


def only_with_list(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of `CommandPalette`, so that it does nothing while the palette's list widget does not exist."""

    # Textual reads from the signature of the method how many arguments to pass. `wraps` keeps this signature.
    @wraps(method)
    def guarded(palette: CommandPalette, *arguments: Any) -> Any:
        return method(palette, *arguments) if palette.query(CommandList) else None

    return guarded
