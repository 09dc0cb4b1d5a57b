"""Command lines that show or delete a group with Kafka's own tools, quoted for a POSIX shell."""

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
        text: the command in one line, quoted for a shell. Words with unprintable characters
            are written as `$'…'`, which bash, zsh and ksh understand.
        note: what the command does differently from kgtui, or empty.
    """

    text: str
    note: str = ""


def describe(
    group: str, kind: str, seeds: Sequence[str], *, view: View = "offsets", command_config: str | None = None
) -> CommandLine:
    """Return the command line that shows a group with Kafka's scripts.

    With the view `configs`, the command shows the configs of a group of any kind.

    With the other views, Kafka's scripts cannot show groups of the kinds `connect`, `sr` (schema
    registry) and `other`. For such a group, the command lists groups instead: all groups of the
    kind `connect` or `sr`, or all groups of the cluster if the kind is `other`.

    Args:
        kind: one of `kgtui.model.group_types.KINDS`.
        seeds: bootstrap addresses, `host:port`.
        view: what to show about the group.
        command_config: path of the properties file for the connection, or None.
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
    """Return the command line that deletes groups of one kind with Kafka's scripts.

    Some kinds of groups have no script of their own, such as Connect groups. For these groups, the command calls
    `kafka-consumer-groups.sh`, which can delete them, too.

    Args:
        kind: one of `kgtui.model.group_types.KINDS`.
        seeds: bootstrap addresses, `host:port`.
        command_config: path of the properties file for the connection, or None.
    """
    script = _tool(kind) or CONSUMER_TOOL
    named = [word for group in groups for word in ("--group", group)]
    note = _UNCHECKED if script == CONSUMER_TOOL else ""
    return CommandLine(join((script, *_where(seeds, command_config), "--delete", *named)), note)


_FOREIGN_CONFIGS = "the tool shows the configs of all group types, including those that do not apply to this group"
_NOT_DESCRIBED = "Kafka's tools list groups of this kind but cannot describe them"
_UNCHECKED = (
    "this script does not check the group's type, so it also deletes an Empty share or streams group of this name"
)


def _tool(kind: str) -> str | None:
    known = GROUP_KINDS.get(kind)
    return known.tool if known else None


def _where(seeds: Sequence[str], command_config: str | None) -> tuple[str, ...]:
    servers = ("--bootstrap-server", ",".join(seeds) or "localhost:9092")
    return servers if command_config is None else (*servers, "--command-config", command_config)


def join(words: Iterable[str]) -> str:
    """Quote each word for a shell, and join the words with spaces into one line."""
    return " ".join(quote(word) for word in words)


def quote(word: str) -> str:
    """Quote one word for a shell. A word with unprintable characters is written as `$'…'`, with escape sequences."""
    if not any(_is_unsafe(char) for char in word):
        return shlex.quote(word)
    return "$'" + "".join(_escape(char) for char in word) + "'"


def _is_unsafe(char: str) -> bool:
    return not char.isprintable()


def _escape(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if not _is_unsafe(char):
        return char
    point = ord(char)
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if point < 0x80:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
