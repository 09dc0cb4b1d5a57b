"""Complete the text of an input field without a worker (a background task of Textual).

Textual 8.2.8 uses a worker for completions. Python prints a warning if a worker is canceled before it has begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Iterable


class CompletingInput(Input):
    """An input field that proposes a completion of the typed text, ignoring case. Key `right` accepts the proposal.

    Args:
        completions: the texts to propose, in order of preference.
        options: further keyword arguments for the constructor of Textual's `Input`.
    """

    def __init__(self, value: str, completions: Iterable[str], **options: Any) -> None:
        # Set this attribute before calling `super().__init__`, which can call `watch_value`.
        self._completions = tuple(completions)
        super().__init__(value, **options)

    def watch_value(self, value: str) -> None:
        """Propose a completion for the changed text. Textual has already removed the proposal for the previous text."""
        typed = value.casefold()
        self._suggestion = next((text for text in self._completions if value and text.casefold().startswith(typed)), "")
