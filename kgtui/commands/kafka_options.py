"""Parses the options of a Kafka script, and formats the table of these options for its help text.

The options, messages and exit codes follow the rules of Kafka 4.3.1. For example:

- Names of options cannot be abbreviated. `--name value`, `--name=value` and `-name value` mean the same.
- If an option takes an argument, the next word is the argument, even if it begins with a dash.
- A word without a dash is ignored, unless it is an argument of an option.
- If a flag (an option without an argument) has a value, as in `--list=text`, the value is ignored.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NoReturn

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME_WIDTH, _TEXT_WIDTH = 36, 39


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a Kafka script.

    Attributes:
        name: name without dashes.
        help: text in the table of options.
        argument: description of the argument; None for a flag (an option without an argument).
        waives_required: whether a command line with this option, such as `--help`, can lack required options.
    """

    name: str
    help: str
    argument: str | None = None
    required: bool = False
    waives_required: bool = False


class KafkaOptionError(KgtuiError):
    """Raised if the options of a command line are wrong, or if `--help` is given. In both cases, the exit code is 1.

    Attributes:
        usage: whether to print the table of options after the message.
    """

    exit_code = 1

    def __init__(self, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(slots=True)
class Options:
    """The options of one command line.

    Attributes:
        given: name of each option in the command line → list of its arguments. The list is empty for a flag (an option
            without an argument).
    """

    given: dict[str, list[str]] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def value(self, name: str) -> str | None:
        """Return the argument of an option; None if the option is not given.

        Raises `KafkaOptionError` if the option is given more than once.
        """
        values = self.given.get(name)
        if values is None:
            return None
        if len(values) > 1:
            _fail(f"Found multiple arguments for option {name}, but you asked for only one", usage=False)
        return values[0]

    def refuse(self, name: str, others: Sequence[str]) -> None:
        """Raise `KafkaOptionError` if `name` was given together with one of `others`."""
        for other in others:
            if name in self and other in self:
                _fail(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def read_options(words: Sequence[str], options: Sequence[Option]) -> Options:
    """Parse a command line by the rules of Kafka's scripts.

    Raises:
        KafkaOptionError: an option is unknown, lacks its argument, or is required but not given.
    """
    options_by_name = {option.name: option for option in options}
    found = Options()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue
        name, equals, argument = word[2:].partition("=") if word.startswith("--") else _short(word, options_by_name)
        option = options_by_name.get(name)
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


def _short(word: str, options_by_name: dict[str, Option]) -> tuple[str, str, str]:
    """Split a word such as `-name=value` into `name`, `=` and `value`.

    If no option has this name, return the first letter and two empty texts: Kafka's scripts report only this letter.
    """
    name, equals, argument = word[1:].partition("=")
    return (name, equals, argument) if name in options_by_name else (word[1], "", "")


def _check_required(found: Options, options: Sequence[Option]) -> None:
    if any(option.waives_required and option.name in found for option in options):
        return
    missing = [option.name for option in options if option.required and option.name not in found]
    if missing:
        _fail(f"Missing required option(s) [{', '.join(missing)}]")


def usage(options: Sequence[Option]) -> str:
    """Return the table of options, in the layout of Kafka's scripts."""
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
