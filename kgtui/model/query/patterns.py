"""What texts are compared with: globs, subsequences and regular expressions, none of which can be made to hang."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kgtui.model.query.lexer import spelled

if TYPE_CHECKING:
    from collections.abc import Callable

# RE2's sets give up when their automaton outgrows its memory; a plain search does not, and takes the larger programs.
_LARGE_PROGRAM = 5_000


class PatternError(ValueError):
    """A regular expression that RE2 refuses; the message says why."""


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern with `*` (any text) and `?` (one character), compared with a whole text whatever its case."""

    text: str
    wild: frozenset[int] = frozenset()

    def matcher(self) -> Callable[[str], object]:
        """A function that is true of texts that match."""
        if not self.wild:
            wanted = self.text.lower()
            return lambda text: text.lower() == wanted
        return _glob_matcher(self.text, self.wild)

    def spelled(self) -> str:
        """The pattern as the filter language writes it; `*` as `%`, which no shell touches."""
        text = "".join("%" if i in self.wild and c == "*" else c for i, c in enumerate(self.text))
        return spelled(text, self.wild)


@lru_cache(maxsize=256)
def _glob_matcher(text: str, wild: frozenset[int]) -> Callable[[str], object]:
    # Each run of literals is found once, at its first place, and never given back (atomic groups): linear in the text.
    parts: list[str] = [""]
    for index, char in enumerate(text):
        if index not in wild:
            parts[-1] += re.escape(char.lower())
        elif char == "?":
            parts[-1] += "."
        else:
            parts.append("")
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1] if part)
    last = f".*{parts[-1]}" if len(parts) > 1 else ""
    pattern = re.compile(f"{parts[0]}{middle}{last}", re.DOTALL)
    return lambda text: pattern.fullmatch(text.lower())


@lru_cache(maxsize=64)
def fuzzy_matcher(word: str) -> Callable[[str], object]:
    """True of lower-case texts that hold the letters of `word` in that order."""
    steps = "".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in word.lower())
    return re.compile(steps, re.DOTALL).match


@lru_cache(maxsize=64)
def regex_matcher(source: str) -> Callable[[str], object]:
    """True of texts in which RE2 finds the expression, whatever the case (`(?-i)` in it minds the case).

    Raises `PatternError`; the function returned raises `UnicodeEncodeError` for a text with lone surrogates.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        source.encode()
        compiled = re2.compile(source, options)
    except UnicodeEncodeError:
        raise PatternError("a lone surrogate cannot be searched for") from None
    except re2.error as error:
        raise PatternError(_reason(error)) from None
    search: Callable[[str], object] = compiled.search
    if compiled.programsize <= _LARGE_PROGRAM:
        # A set of one asks RE2 yes or no only, which takes a quarter of the time of looking for where.
        one = re2.Set.SearchSet(options)
        one.Add(source)
        one.Compile()
        search = one.Match
    return search


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "not understood"
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
