"""Wrap text into lines of at least one cell.

In a terminal with 5 or 7 columns, Textual 8.2.8 wraps the texts of an `OptionList` to a width of 0. The library rich
then raises `ValueError`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.visual import RichVisual

if TYPE_CHECKING:
    from collections.abc import Callable

textual_wrap: Callable[..., Any] = Content._wrap_and_format
"""Textual's original method for wrapping text. Its replacement, `wrap`, calls it with a width of at least 1."""

_textual_height: Callable[..., int] = RichVisual.get_height


def wrap_text_to_at_least_one_cell() -> None:
    """Patch Textual's methods that wrap text, so that they treat a width of 0 like a width of 1."""
    setattr(Content, "_wrap_and_format", wrap)  # noqa: B010 - mypy forbids a plain assignment to a method
    setattr(RichVisual, "get_height", _height)  # noqa: B010


@wraps(textual_wrap)
def wrap(content: Content, width: int, *arguments: Any, **options: Any) -> Any:
    return textual_wrap(content, max(width, 1), *arguments, **options)


@wraps(_textual_height)
def _height(visual: RichVisual, rules: Any, width: int) -> int:
    return _textual_height(visual, rules, max(width, 1))
