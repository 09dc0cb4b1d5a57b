r"""Splits a filter into terms and values.

Blanks separate terms, and commas separate values. Quotes and `\` remove the special meaning of characters. Each term
and value contains its position in the filter (an index from 0), so that error messages can point at a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kgtui.errors import QueryError
from kgtui.model.number_format import counted

LONGEST = 4_096
"""Maximum length of a filter in characters. A longer filter is rejected with a `QueryError`.

The limit is low enough for RE2, which can compile a regular expression of this length.
"""

WILD = "*?%"
"""The wildcard characters. `%` means the same as `*`, but `%` needs no quotes in a shell."""

_SIMPLE = {"n": "\n", "t": "\t", "r": "\r"}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_HEX = {"x": 2, "u": 4, "U": 8}
_BARE_SPECIAL = frozenset(' \t\n\r",\\')


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a term.

    Attributes:
        text: the value without quotes and escapes, or a regular expression without its slashes.
        start: position in the filter at which the value begins.
        end: position in the filter directly after the value.
        regex: whether the value is a regular expression, written between slashes.
        quoted: whether a part of the value was quoted or escaped. Some terms, such as `state:`, accept a value that
            kgtui does not know only if it is quoted. Without quotes, such a value is rejected as a typing error.
        wild: indexes of the wildcard characters in `text`.
    """

    text: str
    start: int
    end: int
    regex: bool = False
    quoted: bool = False
    wild: frozenset[int] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class RawTerm:
    """A term of a filter, such as `not:lag:0`, split into negation, key (`lag`) and values (`0`).

    The key and the values are not checked yet. `key` is None for a term about the group id. The term begins at position
    `start` of the filter, and ends directly before position `end`. The key begins at position `key_start`.
    """

    start: int
    end: int
    negated: bool
    key: str | None
    key_start: int
    values: tuple[Value, ...]


class Lexer:
    """Splits a filter into terms, from left to right. The values of the terms are not checked."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise QueryError(
                f"the filter is too long ({counted(len(text), 'character')})",
                position=LONGEST,
                length=len(text) - LONGEST,
                expected=f"expected at most {LONGEST} characters",
            )
        self._text = text
        self._at = 0

    def terms(self) -> list[RawTerm]:
        """Return all terms of the filter. Raises `QueryError` if the filter cannot be split into terms."""
        found: list[RawTerm] = []
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                return found
            found.append(self._term())

    def _skip_blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _term(self) -> RawTerm:
        start = self._at
        negated = False
        while True:
            if self._peek() == "!":
                self._at += 1
            elif self._text[self._at : self._at + 4].lower() == "not:":
                self._at += 4
            else:
                break
            negated = not negated
        if self._at > start and (not self._peek() or self._peek().isspace()):
            raise QueryError(
                "a term is missing after the negation",
                position=start,
                length=self._at - start,
                expected="expected a term after not: or !",
            )
        key_start = self._at
        key = self._key()
        # Only a term about the group id can be a regular expression. In all other terms, a leading slash is a part of
        # the value, as in the host `/10.0.0.7`.
        read = self._id_value if key is None else self._value
        values = [read()]
        while self._peek() == ",":
            self._at += 1
            values.append(read())
        return RawTerm(start, self._at, negated, key, key_start, tuple(values))

    def _key(self) -> str | None:
        at = self._at
        while at < len(self._text) and (self._text[at].isalnum() or self._text[at] in "-_"):
            at += 1
        if at == self._at or self._text[at : at + 1] != ":":
            return None
        key = self._text[self._at : at]
        self._at = at + 1
        return key.lower()

    def _id_value(self) -> Value:
        return self._regex() if self._peek() == "/" else self._value()

    def _value(self) -> Value:
        start = self._at
        chars: list[str] = []
        wild: set[int] = set()
        quoted = False
        while (char := self._peek()) and not char.isspace() and char != ",":
            if char == '"':
                chars.extend(self._quoted())
                quoted = True
            elif char == "\\":
                chars.append(self._escape())
                quoted = True
            else:
                if char in WILD:
                    wild.add(len(chars))
                chars.append(char)
                self._at += 1
        if self._at == start:
            expected = 'expected a value, or "" for an empty value'
            raise QueryError("a value is missing", position=start, expected=expected)
        return Value("".join(chars), start, self._at, quoted=quoted, wild=frozenset(wild))

    def _quoted(self) -> list[str]:
        start = self._at
        self._at += 1
        chars: list[str] = []
        while (char := self._peek()) != '"':
            if not char:
                raise QueryError(
                    "a quotation is not closed",
                    position=start,
                    length=self._at - start,
                    expected='expected a closing "',
                )
            if char == "\\":
                chars.append(self._escape())
            else:
                chars.append(char)
                self._at += 1
        self._at += 1
        return chars

    def _escape(self) -> str:
        start = self._at
        kind = self._text[start + 1 : start + 2]
        if not kind:
            raise QueryError(
                "the filter ends with a backslash",
                position=start,
                expected=r"expected a character after \, or \\ for a backslash",
            )
        if kind in _SIMPLE:
            self._at += 2
            return _SIMPLE[kind]
        if kind not in _HEX:
            self._at += 2
            return kind
        digits = self._text[start + 2 : start + 2 + _HEX[kind]]
        self._at += 2 + _HEX[kind]
        try:
            return (
                chr(int(digits, 16))
                if len(digits) == _HEX[kind] and _HEXADECIMAL.issuperset(digits)
                else _no_escape(digits)
            )
        except (ValueError, OverflowError):
            raise QueryError(
                "this is not a valid escape",
                position=start,
                length=2 + len(digits),
                expected=rf"expected {_HEX[kind]} hexadecimal digits after \{kind}, or \\ for a backslash",
            ) from None

    def _regex(self) -> Value:
        start = self._at
        self._at += 1
        chars: list[str] = []
        while (char := self._peek()) != "/":
            if not char:
                raise QueryError(
                    "a regular expression is not closed",
                    position=start,
                    length=self._at - start,
                    expected='expected a closing /; a name that begins with / needs quotes: "/name"',
                )
            if char == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                chars.append(following if following == "/" else char + following)
                self._at += 2
            else:
                chars.append(char)
                self._at += 1
        self._at += 1
        after = self._peek()
        if after and after != "," and not after.isspace():
            raise QueryError(
                "the regular expression ends before this character",
                position=self._at,
                expected=r"expected a blank or a comma; write / as \/ inside an expression",
            )
        return Value("".join(chars), start, self._at, regex=True)


def _no_escape(digits: str) -> str:
    raise ValueError(digits)


def spelled(text: str, wild: frozenset[int] | None = None, *, first: bool = False) -> str:
    """Return a value as it is written in a filter, with as few escapes as possible.

    Args:
        wild: indexes of the wildcards in `text`; None if the term supports no wildcards. If it is
            not None, each `*`, `?` and `%` that is not a wildcard is escaped.
        first: whether the value begins a term. If so, a leading `!` or the first `:` is escaped.
            Without the escape, `!` would negate the term, and `:` would end a key.
    """
    if not text:
        return '""'
    bare = "".join(_bare(char, index, wild) for index, char in enumerate(text))
    if bare[0] == "/" or (first and bare[0] == "!"):
        return "\\" + bare
    return bare.replace(":", "\\:", 1) if first else bare


def _bare(char: str, index: int, wild: frozenset[int] | None) -> str:
    if char != " " and (char.isspace() or not char.isprintable()):
        return f"\\U{ord(char):08x}"
    if char in _BARE_SPECIAL or (wild is not None and char in WILD and index not in wild):
        return "\\" + char
    return char
