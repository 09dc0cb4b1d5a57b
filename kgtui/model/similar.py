"""Finds names that are similar to a text with a typing mistake, also among 100,000 group ids."""

from __future__ import annotations

import re
from difflib import get_close_matches
from heapq import nsmallest
from typing import TYPE_CHECKING

from kgtui.model.slices import SLICE, run_at_once

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

MOST = 3
"""Maximum number of similar names."""

_COMPARED = 100
"""Maximum number of names that are compared exactly with one text, because an exact comparison takes microseconds."""

_CUTOFF = 0.7
"""Lowest similarity of two texts that are called similar, from 0 to 1, as computed by difflib."""


def similar_names(texts: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return at most `MOST` names that are similar to one of the texts, the most similar ones of each text first.

    Texts and names are divided into parts at punctuation. A name is similar if the name or one of its parts is similar
    to a text or to a part of a text.
    """
    return run_at_once(similar_steps(texts, names))


def similar_steps(texts: Iterable[str], names: Iterable[str]) -> Generator[None, None, list[str]]:
    """Compute the result of `similar_names`, and yield after each slice of names, so that other tasks can run."""
    every, found = list(names), list[str]()
    for text in texts:
        likely: list[tuple[int, int, str]] = []
        grams = _grams(text.lower())
        for start in range(0, len(every), SLICE):
            counted = ((sum(gram in name.lower() for gram in grams), name) for name in every[start : start + SLICE])
            likely += [(-count, len(name), name) for count, name in counted if count]
            yield
        found += _closest(text, [name for _, _, name in nsmallest(_COMPARED, likely)])
        yield
    return list(dict.fromkeys(found))[:MOST]


def _closest(text: str, names: list[str]) -> list[str]:
    shortest: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (len(name), name)):
        for part in _parts(name):
            shortest.setdefault(part, name)
    wanted = _parts(text)
    return [shortest[part] for one in wanted for part in get_close_matches(one, shortest, cutoff=_CUTOFF)]


def _grams(text: str) -> frozenset[str]:
    """Return all pairs of adjacent characters in a text; the text itself if it is shorter."""
    return frozenset(text[at : at + 2] for at in range(max(len(text) - 1, 1)))


def _parts(text: str) -> list[str]:
    """Return the text and its parts between punctuation, in lower case, without parts of fewer than four characters."""
    lower = text.lower()
    return [lower, *(part for part in re.split(r"[\W_]+", lower) if len(part) > 3 and part != lower)]
