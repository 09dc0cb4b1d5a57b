"""Options as Kafka's own scripts read them, with their messages and exit codes.

Their parser is jopt-simple without abbreviations: `--name value`, `--name=value`, also with one dash. An argument may
look like an option, what follows the `=` of a flag is ignored, and so are words that are no options. Every check has
its place in a fixed order. Facts seen on Kafka 4.3.1.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NoReturn

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Sequence

KAFKA_VERSION = "4.3.1"
"""The version whose scripts are followed; what their `--version` prints."""

_NAME_WIDTH = 36
_TEXT_WIDTH = 39


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        argument: what its argument is, for the help; None for a flag.
        stops: help and version: what is required is then not missed.
    """

    name: str
    help: str
    argument: str | None = None
    required: bool = False
    stops: bool = False


class KafkaOptionError(KgtuiError):
    """A mistake as Kafka's script reports it: on stderr, with exit code 1. `usage` says that the help follows."""

    exit_code = 1

    def __init__(self, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(slots=True)
class Options:
    """The options given: name → arguments, of flags an empty list."""

    given: dict[str, list[str]] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def value(self, name: str) -> str | None:
        """The one argument, None when the option is absent. Raises `KafkaOptionError` when there are more."""
        values = self.given.get(name)
        if values is None:
            return None
        if len(values) > 1:
            _fail(f"Found multiple arguments for option {name}, but you asked for only one", usage=False)
        return values[0]

    def refuse(self, name: str, others: Sequence[str]) -> None:
        """Raise when `name` is given together with any of the others, in their order."""
        for other in others:
            if name in self and other in self:
                _fail(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def read_options(words: Sequence[str], options: Sequence[Option]) -> Options:
    """Read a command line. Raises `KafkaOptionError`."""
    known = {option.name: option for option in options}
    found = Options()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue
        name, equals, argument = word[2:].partition("=") if word.startswith("--") else _short(word, known)
        option = known.get(name)
        if option is None:
            _fail(f"{name} is not a recognized option")
        values = found.given.setdefault(name, [])
        if option.argument is None:
            continue
        if not equals:
            if at >= len(words):
                _fail(f"Option {name} requires an argument")
            argument = words[at]
            at += 1
        values.append(argument)
    _check_required(found, options)
    return found


def _short(word: str, known: dict[str, Option]) -> tuple[str, str, str]:
    """`-name` is taken for `--name`; anything else for its first letter, which no script has."""
    name, equals, argument = word[1:].partition("=")
    return (name, equals, argument) if name in known else (word[1], "", "")


def _check_required(found: Options, options: Sequence[Option]) -> None:
    if any(option.stops and option.name in found for option in options):
        return
    missing = [option.name for option in options if option.required and option.name not in found]
    if missing:
        _fail(f"Missing required option(s) [{', '.join(missing)}]")


def usage(options: Sequence[Option]) -> str:
    """The table of options, in the layout of Kafka's scripts."""
    marked = any(option.required for option in options)
    title = "Option (* = required)" if marked else "Option"
    lines = [_row(title, "Description"), _row("-" * len(title), "-" * len("Description"))]
    for option in sorted(options, key=lambda option: (not option.required, option.name)):
        title = ("* " if option.required else "") + f"--{option.name}"
        if option.argument is not None:
            title += f" <String: {option.argument}>"
        names = textwrap.wrap(title, _NAME_WIDTH, subsequent_indent="  ", break_long_words=False)
        texts = textwrap.wrap(option.help, _TEXT_WIDTH - 1, subsequent_indent="  ")
        lines += [_row(name, text) for name, text in zip_longest(names, texts, fillvalue="")]
    return "\n".join(lines) + "\n"


def _row(name: str, text: str) -> str:
    return f"{name:<{_NAME_WIDTH}}  {text:<{_TEXT_WIDTH}}"


def _fail(message: str, *, usage: bool = True) -> NoReturn:
    raise KafkaOptionError(message, usage=usage)


def utf16_length(text: str) -> int:
    """Length as Java counts it, which is how Kafka's scripts pad their columns."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def pad(text: str, width: int) -> str:
    """Java's `%-<width>s`."""
    return text + " " * (width - utf16_length(text))
