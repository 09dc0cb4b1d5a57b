"""Corrects mistakes in filters: finds the filter that the user probably meant, such as `lag:101+` for `lag>100`.

For a misspelled name, such as the name of a topic, this module finds similar names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from heapq import nsmallest
from typing import TYPE_CHECKING

from kgtui.errors import QueryError
from kgtui.model.query.parser import parse
from kgtui.model.query.patterns import Glob
from kgtui.model.query.query import Query
from kgtui.model.query.term_catalog import SORT, TERM_KEYS, NameKey
from kgtui.model.query.terms import IdTerm, NameTerm
from kgtui.model.slices import SLICE, run_at_once

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from kgtui.model.snapshot import Snapshot

MOST = 3
"""Maximum number of similar names that are suggested to the user."""

_COMPARED = 100
"""Maximum number of names that difflib compares with a misspelled text. Comparing 100,000 names would take too long.

kgtui chooses the names that have the most pairs of adjacent characters in common with the text.
"""

_CUTOFF = 0.7
"""Two texts count as similar if `difflib` computes a similarity of at least this number (0 to 1)."""


def similar_names(texts: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return at most `MOST` names that are similar to one of the texts. Names similar to the first text come first.

    It is enough that one word in a name is similar. For example, the name `payments.settle` is similar to `setle`.
    """
    return run_at_once(similar_steps(texts, names))


def similar_steps(texts: Iterable[str], names: Iterable[str]) -> Generator[None, None, list[str]]:
    """Compute the result of `similar_names` in a generator. It yields regularly, so that other tasks can run."""
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
    """Return all pairs of adjacent characters in a text; the text itself if it has only one character."""
    return frozenset(text[at : at + 2] for at in range(max(len(text) - 1, 1)))


def _parts(text: str) -> list[str]:
    """Return a text and its words in lower case: for `Payments.settle.v2`, the whole text, `payments` and `settle`.

    Words with fewer than four characters are left out. Words are separated by punctuation.
    """
    lower = text.lower()
    return [lower, *(part for part in re.split(r"[\W_]+", lower) if len(part) > 3 and part != lower)]


_START, _END = r"(?<!\S)", r"(?!\S)"
_COMPARISON = re.compile(
    rf"{_START}({'|'.join((*TERM_KEYS, SORT))})\s*(>=|<=|!=|==|=|>|<)\s*([^\s<>=!]+){_END}", re.IGNORECASE
)
_AND = re.compile(rf"\s+(?:and|&&?){_END}", re.IGNORECASE)
_NOT = re.compile(rf"{_START}not\s+(?=\S)", re.IGNORECASE)
_OR = re.compile(rf"{_START}((?:not:)?)(\w+:)?(\S+)\s+(?:or|\|\|?)\s+(\w+:)?(\S+){_END}", re.IGNORECASE)


_OPERATORS = ("AND", "OR", "NOT")


def operator_hint(query: Query) -> str:
    """Return a hint for the user about AND, OR or NOT in the filter; empty if none of them occurs.

    The filter language has no such operators: `a AND b` finds group ids that contain `a`, `and` and `b`.
    """
    words = [one.text for term in query.terms if isinstance(term, IdTerm) for one in term.any_of if one.kind == "word"]
    word = next((operator for operator in _OPERATORS if operator in words), None)
    if word is None:
        return ""
    meant = likely_meant(query)
    instead = {
        "AND": "AND is not needed, because a group must match all terms",
        "OR": "write alternatives with a comma, as in a,b",
        "NOT": "write not: before a term to negate it",
    }[word]
    hint = f"{word} is read as a part of group ids; {instead}"
    return hint if meant is None else f"{hint}; did you mean {meant.describe()}"


def likely_meant(query: Query) -> Query | None:
    """Return the filter that the user probably meant; None if `query` contains none of the usual mistakes.

    Examples: `lag>100` → `lag:101+`, `a AND b` → `a b`, `a OR b` → `a,b`, `NOT a` → `not:a`.
    """
    text = query.describe()
    meant = _NOT.sub("not:", _AND.sub(" ", _COMPARISON.sub(_term, text)))
    while (joined := _OR.sub(_alternatives, meant)) != meant:
        # One pass replaces `a OR b` with `a,b`, so `a OR b OR c` needs two passes.
        meant = joined
    if meant == text:
        return None
    try:
        return parse(meant)
    except QueryError:
        return None


def _term(found: re.Match[str]) -> str:
    key, sign, value = found.groups()
    negated, sign = ("not:" if sign == "!=" else ""), sign if sign[0] in "<>" else ""
    return f"{negated}{key}:{sign}{value}"


def _alternatives(found: re.Match[str]) -> str:
    """Return `topic:a,b` for a regex match of `topic:a OR topic:b`.

    If the keys of the two terms differ, as in `topic:a OR client:b`, return the matched text unchanged.
    """
    negated, key, value, other_key, other = found.groups()
    if other_key not in (key, None):
        return found[0]
    return f"{negated}{key or ''}{value},{other}"


def meant_steps(query: Query, snapshot: Snapshot) -> Generator[None, None, Query | None]:
    """Return the filter that the user probably meant; None if the filter seems to contain no mistake.

    This generator corrects the same mistakes as `likely_meant`. It also corrects terms with names
    that no group has. For example, `topic:payments` is corrected if there is no topic `payments`.
    If some topic names contain `payments`, the term becomes a pattern such as `topic:payments%`.
    Otherwise, `payments` is replaced with the most similar topic name. The generator yields
    regularly, so that other tasks can run.
    """
    meant = likely_meant(query)
    terms = list((meant or query).terms)
    changed = meant is not None
    for index, term in enumerate(terms):
        if not isinstance(term, NameTerm) or term.negated or any(glob.wild for glob in term.any_of):
            continue
        names = yield from _names(term, snapshot)
        lower = {name.lower() for name in names}
        if any(glob.text.lower() in lower for glob in term.any_of):
            continue
        likely: tuple[Glob, ...] = ()
        for glob in term.any_of:
            likely += ((yield from _likely_name(glob, names)),)
        if likely != term.any_of:
            terms[index], changed = replace(term, any_of=likely), True
    return Query(tuple(terms), (meant or query).order) if changed else None


def _names(term: NameTerm, snapshot: Snapshot) -> Generator[None, None, set[str]]:
    """Return all names in the snapshot that the term could match, such as all topics for a `topic:` term."""
    entry, names = TERM_KEYS[term.key], set[str]()
    if not isinstance(entry, NameKey):
        return names
    groups = list(snapshot.groups)
    for start in range(0, len(groups), SLICE):
        for group in groups[start : start + SLICE]:
            names.update(entry.names(snapshot, group) or ())
        yield
    return names


def _likely_name(glob: Glob, names: set[str]) -> Generator[None, None, Glob]:
    text = glob.text.lower()
    containing = [name for name in names if text in name.lower()]
    if text and containing:
        before = "" if all(name.lower().startswith(text) for name in containing) else "*"
        after = "" if all(name.lower().endswith(text) for name in containing) else "*"
        pattern = f"{before}{glob.text}{after}"
        wild = {0} if before else set()
        return Glob(pattern, frozenset(wild | ({len(pattern) - 1} if after else set())))
    similar = yield from similar_steps([glob.text], sorted(names))
    return Glob(similar[0]) if similar else glob
