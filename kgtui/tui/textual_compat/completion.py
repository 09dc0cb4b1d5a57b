"""Complete the text of an input field without a worker.

Textual 8.2.8 starts a worker on every keystroke to find a completion. If the worker is cancelled before it has begun,
for example because the program ends, Python prints a warning about a coroutine that was never awaited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Iterable


class CompletingInput(Input):
    """An input field that proposes the first completion that begins with the typed text, regardless of case.

    The field shows the proposed text behind the cursor. Key `right` accepts it.

    Args:
        value: initial text of the field.
        completions: the texts to propose, in order of preference.
        options: other arguments of Textual's `Input`.
    """

    def __init__(self, value: str, completions: Iterable[str], **options: Any) -> None:
        # This attribute is set first, because `super().__init__` calls `watch_value` if the app is running.
        self._completions = tuple(completions)
        super().__init__(value, **options)

    def watch_value(self, value: str) -> None:
        """Find a completion for the changed text. Textual has already removed the old proposal."""
        typed = value.casefold()
        self._suggestion = next((text for text in self._completions if value and text.casefold().startswith(typed)), "")
