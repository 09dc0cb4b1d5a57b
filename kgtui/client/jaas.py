"""`sasl.jaas.config`: a login module with its options, on one line.

Read as Kafka's JaasConfig does, with Java's StreamTokenizer: words of letters, digits and `. - _ $`, quoted strings
with backslash escapes, `//` and `/* */` comments, a semicolon at the end::

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="a \\"quoted\\" word";
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.client.secret import Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "sasl.jaas.config"

_TOKEN = re.compile(
    r"""
    (?P<skip>   \s+ | //[^\r\n]* | /\*.*?\*/ )
  | (?P<double> "(?:[^"\\\r\n] | \\.)*" )
  | (?P<single> '(?:[^'\\\r\n] | \\.)*' )
  | (?P<word>   [\w.$\-]+ )
  | (?P<mark>   [=;] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module: the name of its class, and its options, each value masked."""

    name: str
    options: dict[str, Secret]

    @property
    def short_name(self) -> str:
        """The class without its package."""
        return self.name.rpartition(".")[2]


def parse_jaas(text: str) -> LoginModule:
    """Read the value of `sasl.jaas.config`.

    Raises ConfigError, which says where the mistake is without repeating any value.
    """
    tokens = _tokens(text)
    kind, name = next(tokens)
    if kind != "word":
        raise _mistake("it should begin with the class of a login module")
    kind, flag = next(tokens)
    if kind != "word" or flag.lower() not in _FLAGS:
        raise _mistake("after the class there should be `required`")
    options: dict[str, Secret] = {}
    while True:
        kind, key = next(tokens)
        if (kind, key) == ("mark", ";"):
            break
        if kind == "end":
            raise _mistake("there is no semicolon at the end")
        if kind != "word" or next(tokens) != ("mark", "="):
            raise _mistake('options should be written name="value"')
        kind, value = next(tokens)
        if kind not in {"word", "string"} or (kind == "word" and value[0].isdigit()):
            raise _mistake(f"the value of {_known(key)} should stand in double quotes")
        options[key] = Secret(value)
    if next(tokens)[0] != "end":
        raise _mistake("there should be one login module and nothing after its semicolon")
    return LoginModule(name, options)


def _known(option: str) -> str:
    """The option if it is one; behind a quote that was not escaped stands a piece of a password."""
    return option if option in {"username", "password", "tokenauth"} else "an option"


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _mistake(f"character {position + 1} does not belong there, or a quote is not closed")
        position = found.end()
        kind, word = found.lastgroup, found.group()
        if kind in {"double", "single"}:
            yield "string", _ESCAPE.sub(_unescape, word[1:-1])
        elif kind != "skip":
            yield str(kind), word
    while True:
        yield "end", ""


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPES.get(code, code)


def _mistake(what: str) -> ConfigError:
    return ConfigError(f'{KEY}: {what}; as in: org.apache.kafka...PlainLoginModule required username="u" password="p";')
