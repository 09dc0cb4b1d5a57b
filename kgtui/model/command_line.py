"""The command line of Kafka's own tools that does what a screen shows, quoted for a POSIX shell."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kgtui.model.group_types import CONSUMER_TOOL, GROUP_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

View = Literal["state", "members", "offsets", "configs"]

_VIEWS = {"state": ("--state", "--verbose"), "members": ("--members", "--verbose"), "offsets": ()}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command to run in a shell.

    Attributes:
        text: one line, quoted; control and bidi characters are written as escapes of `$'…'` (bash, zsh, ksh).
        note: what the tool does differently from what is on the screen; `` when nothing.
    """

    text: str
    note: str = ""


def describe(
    group: str, kind: str, seeds: Sequence[str], *, view: View = "offsets", command_config: str | None = None
) -> CommandLine:
    """What shows this group with Kafka's scripts. `kind` is one of `kgtui.model.group_types.KINDS`.

    Kafka's scripts have nothing that describes a Connect or registry group: the nearest is the list of its protocol.
    """
    where = _where(seeds, command_config)
    if view == "configs":
        words = ("kafka-configs.sh", *where, "--describe", "--entity-type", "groups", "--entity-name", group)
        return CommandLine(join(words), "" if _tool(kind) else _FOREIGN_CONFIGS)
    script = _tool(kind)
    if script is None:
        protocol = ("--protocol", kind) if kind in ("connect", "sr") else ()
        return CommandLine(join(("kafka-groups.sh", *where, "--list", *protocol)), _NOT_DESCRIBED)
    return CommandLine(join((script, *where, "--describe", "--group", group, *_VIEWS[view])))


def delete(groups: Sequence[str], kind: str, seeds: Sequence[str], *, command_config: str | None = None) -> CommandLine:
    """What deletes these groups, all of one kind, with Kafka's scripts (Connect, registries: the consumer one)."""
    script = _tool(kind) or CONSUMER_TOOL
    named = [word for group in groups for word in ("--group", group)]
    note = _UNCHECKED if script == CONSUMER_TOOL else ""
    return CommandLine(join((script, *_where(seeds, command_config), "--delete", *named)), note)


_FOREIGN_CONFIGS = "the same names are shown for groups of every type"
_NOT_DESCRIBED = "Kafka's tools list groups of this kind and refuse to describe them"
_UNCHECKED = "this script does not check the group's type: it deletes an empty share or streams group of that name too"


def _tool(kind: str) -> str | None:
    known = GROUP_KINDS.get(kind)
    return known.tool if known else None


def _where(seeds: Sequence[str], command_config: str | None) -> tuple[str, ...]:
    servers = ("--bootstrap-server", ",".join(seeds) or "localhost:9092")
    return servers if command_config is None else (*servers, "--command-config", command_config)


def join(words: Iterable[str]) -> str:
    """Words as one line of shell."""
    return " ".join(quote(word) for word in words)


def quote(word: str) -> str:
    """One word of a shell. What would act on a terminal, or be invisible in it, is escaped."""
    if not any(_acts(char) for char in word):
        return shlex.quote(word)
    return "$'" + "".join(_escape(char) for char in word) + "'"


def _acts(char: str) -> bool:
    """Whether a character is a control, format, surrogate or separator character, or a space of an unusual kind."""
    return not char.isprintable()


def _escape(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if not _acts(char):
        return char
    point = ord(char)
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
