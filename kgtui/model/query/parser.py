"""Parses a filter into a `Query`, or reports where the filter is wrong and what was expected."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from kgtui.errors import QueryError
from kgtui.model.query.lexer import Lexer
from kgtui.model.query.patterns import Glob, PatternError, regex_matcher
from kgtui.model.query.query import Query, SortKey
from kgtui.model.query.ranges import COUNT_EXPECTED, COUNT_UNITS, TIME_EXPECTED, RangeSyntaxError, read_range
from kgtui.model.query.sort_keys import SORT_KEYS
from kgtui.model.query.term_catalog import SORT, TERM_KEYS, FlagKey, FuzzyKey, ListingKey, NameKey, NumberKey
from kgtui.model.query.terms import FlagTerm, IdMatch, IdTerm, ListingTerm, NameTerm, NumberTerm

if TYPE_CHECKING:
    from kgtui.model.query.lexer import RawTerm, Value
    from kgtui.model.query.query import Term
    from kgtui.model.query.ranges import Range
    from kgtui.model.query.term_catalog import TermKey
    from kgtui.model.query.verdict_terms import VerdictTerm

_FLAGS = {"yes": True, "true": True, "no": False, "false": False}


def parse(text: str) -> Query:
    """Parse a filter. An empty filter selects every group.

    Raises:
        QueryError: the filter is wrong. The error contains the position and length of the mistake, and what was
            expected there.
    """
    terms: list[Term] = []
    order: list[SortKey] = []
    for raw in Lexer(text).terms():
        if raw.key == SORT:
            order += _sort_keys(raw)
        else:
            terms.append(_term(raw))
    return Query(tuple(terms), tuple(order))


def _term(raw: RawTerm) -> Term:
    key = raw.key
    if key is None:
        return IdTerm(tuple(_id_match(value) for value in raw.values), raw.negated)
    entry = TERM_KEYS.get(key)
    if entry is None:
        _unknown_key(raw, key)
    for value in raw.values:
        if len(value.text) > 1 and value.text[0] == value.text[-1] == "/" and not value.quoted:
            _fail(
                "only terms about the group id can be regular expressions",
                value.start,
                value.end - value.start,
                "expected a value that is not a regular expression",
            )
    return _keyed(entry, raw)


def _keyed(entry: TermKey, raw: RawTerm) -> Term:
    match entry:
        case FuzzyKey():
            return IdTerm(tuple(IdMatch("fuzzy", _not_empty(value)) for value in raw.values), raw.negated)
        case ListingKey():
            read = partial(_known_name, entry) if entry.values else _glob
            return ListingTerm(entry.key, tuple(read(value) for value in raw.values), raw.negated)
        case NameKey():
            return NameTerm(entry.key, tuple(_glob(value) for value in raw.values), raw.negated)
        case FlagKey():
            return _flag(entry.key, raw)
        case NumberKey():
            return NumberTerm(entry.key, tuple(_range(entry, value) for value in raw.values), raw.negated)
        case _:
            return _verdict(raw)


def _range(entry: NumberKey, value: Value) -> Range:
    try:
        return read_range(value.text, entry.units)
    except RangeSyntaxError as error:
        expected = COUNT_EXPECTED if entry.units is COUNT_UNITS else TIME_EXPECTED
        return _fail(str(error), value.start, value.end - value.start, expected, cause=error)


def _id_match(value: Value) -> IdMatch:
    if not value.regex:
        return IdMatch("word", value.text)
    try:
        regex_matcher(value.text)
    except PatternError as error:
        length = value.end - value.start
        _fail(
            f"the regular expression is wrong: {error}", value.start, length, "expected an RE2 expression", cause=error
        )
    return IdMatch("regex", value.text)


def _not_empty(value: Value) -> str:
    if not value.text:
        _fail(
            "the text to search for is missing", value.start, value.end - value.start, "expected letters of a group id"
        )
    return value.text


def _glob(value: Value) -> Glob:
    # Replace the wildcard `%` with `*`. Both mean the same, but users can type `%` in a shell without quotes.
    text = "".join("*" if index in value.wild and char == "%" else char for index, char in enumerate(value.text))
    return Glob(text, value.wild)


def _known_name(entry: ListingKey, value: Value) -> Glob:
    key, names = entry.key, entry.values
    for name in names:
        if name.lower() == value.text.lower():
            return Glob(name)
    if value.wild or (value.quoted and entry.quoted):
        return _glob(value)
    expected = f"expected {', '.join(names)}"
    if entry.quoted:
        expected = f'{expected}; a value in quotes may be any text: {key}:"…"'
    return _fail(
        f"there is no {key} {value.text!r}{_meant(value.text, names)}", value.start, value.end - value.start, expected
    )


def _verdict(raw: RawTerm) -> VerdictTerm:
    from kgtui.model.query.verdict_terms import LEVELS, NAMES, VerdictTerm, read_verdict

    matches = []
    for value in raw.values:
        match = read_verdict(value.text)
        if match is None:
            _fail(
                f"there is no verdict {value.text!r}{_meant(value.text, (*NAMES, 'unknown'))}", value.start,
                value.end - value.start,
                f"expected {', '.join(NAMES)} or unknown; a + after {', '.join(LEVELS[:-1])} or {LEVELS[-1]}, as in "
                "warn+, also selects groups with worse verdicts",
            )  # fmt: skip
        matches.append(match)
    return VerdictTerm(tuple(matches), raw.negated)


def _flag(key: str, raw: RawTerm) -> FlagTerm:
    value = raw.values[0]
    flag = _FLAGS.get(value.text.lower())
    if flag is None or len(raw.values) > 1:
        _fail(f"{key}: must be followed by yes or no", value.start, raw.end - value.start, "expected yes or no")
    return FlagTerm(key, flag, raw.negated)


def _sort_keys(raw: RawTerm) -> list[SortKey]:
    if raw.negated:
        _fail("sort: cannot be negated", raw.start, raw.end - raw.start, "expected sort:lag- for the reverse order")
    keys = []
    for value in raw.values:
        text = value.text.lower()
        name = text[:-1] if text.endswith(("-", "+")) else text
        if name not in SORT_KEYS:
            _fail(
                f"groups cannot be sorted by {name!r}{_meant(name, tuple(SORT_KEYS))}",
                value.start, value.end - value.start,
                f"expected {', '.join(SORT_KEYS)}; a - after the name reverses the order",
            )  # fmt: skip
        keys.append(SortKey(name, text.endswith("-")))
    return keys


def _unknown_key(raw: RawTerm, key: str) -> NoReturn:
    names = ", ".join(f"{name}:" for name in ("not", *TERM_KEYS, SORT))
    _fail(
        f"there is no term {key}:{_meant(key, (*TERM_KEYS, SORT))}", raw.key_start, raw.values[0].start - raw.key_start,
        f'expected {names}; a group id with a colon needs quotes: "{key}:…"',
    )  # fmt: skip


def _meant(text: str, names: tuple[str, ...]) -> str:
    lowered = {name.lower(): name for name in names}
    close = get_close_matches(text.lower()[:64], lowered, n=1)
    return f" (did you mean {lowered[close[0]]}?)" if close else ""


def _fail(message: str, position: int, length: int, expected: str, cause: Exception | None = None) -> NoReturn:
    raise QueryError(message, position=position, length=length, expected=expected) from cause
