"""Matches texts against wildcard patterns, letter sequences and regular expressions, always in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kgtui.model.query.lexer import spelled

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGE_PROGRAM = 5_000
"""Maximum `programsize` (RE2's size of a compiled expression) for matching with `re2.Set`.

For larger expressions, kgtui calls `search` of the compiled expression. This is slower, but `re2.Set` can run out of
memory.
"""


class PatternError(ValueError):
    """RE2 rejected a regular expression. The message contains the reason."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern with the wildcards `*` (any text) and `?` (one character).

    The pattern must match the whole text. Case is ignored.
    """

    text: str
    wild: frozenset[int] = frozenset()

    def matcher(self) -> Callable[[str], object]:
        """Return a function that returns a truthy value if the pattern matches a text."""
        if not self.wild:
            pattern = self.text.lower()
            return lambda text: text.lower() == pattern
        return _glob_matcher(self.text, self.wild)

    def spelled(self) -> str:
        """Return the pattern as text in the filter language. `*` becomes `%`, which a shell does not interpret."""
        text = "".join("%" if i in self.wild and c == "*" else c for i, c in enumerate(self.text))
        return spelled(text, self.wild)


@lru_cache(maxsize=256)
def _glob_matcher(text: str, wild: frozenset[int]) -> Callable[[str], object]:
    parts: list[str] = [""]
    for index, char in enumerate(text):
        if index not in wild:
            parts[-1] += re.escape(char.lower())
        elif char == "?":
            parts[-1] += "."
        else:
            parts.append("")
    # The atomic groups `(?>…)` prevent backtracking, so matching takes linear time.
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1] if part)
    last = f".*{parts[-1]}" if len(parts) > 1 else ""
    pattern = re.compile(f"{parts[0]}{middle}{last}", re.DOTALL)
    return lambda text: pattern.fullmatch(text.lower())


@lru_cache(maxsize=64)
def fuzzy_matcher(word: str) -> Callable[[str], object]:
    """Return a function that takes a lower-case text, and returns a truthy value if the text matches `word`.

    A text matches if it contains the characters of `word` in the same order, with any characters between them. For
    example, `payments.settle` matches `pst`.
    """
    steps = "".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in word.lower())
    return re.compile(steps, re.DOTALL).match


@lru_cache(maxsize=64)
def regex_matcher(source: str) -> Callable[[str], object]:
    """Return a function that takes a text, and returns a truthy value if RE2 finds the regular expression in it.

    Case is ignored, unless the expression contains `(?-i)`. The returned function raises `UnicodeEncodeError` for a
    text with a lone surrogate.

    Raises:
        PatternError: RE2 rejects the expression.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        source.encode()
        compiled = re2.compile(source, options)
    except UnicodeEncodeError:
        raise PatternError("it contains a lone surrogate") from None
    except re2.error as error:
        raise PatternError(_reason(error)) from None
    search: Callable[[str], object] = compiled.search
    if compiled.programsize <= _LARGE_PROGRAM:
        # `re2.Set` is four times as fast as `search`, because it finds only whether the text matches, not where.
        one = re2.Set.SearchSet(options)
        one.Add(source)
        one.Compile()
        search = one.Match
    return search


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "not understood"
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
