"""Names that break careless programs: markup, escapes, newlines, bidi controls, emoji, and very long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.groups.base import Client, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.payload import RawPayload
from kgtui.simulator.habits import Stuck
from kgtui.simulator.life import Settled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.company.topics import Topics
    from kgtui.simulator.groups.base import Group

LONG = "long." + "x" * 244
LONGEST = "longest." + "y" * 31_992

NAMES = (
    "[/red]",
    "[bold red]not markup[/]",
    "a[b]c",
    "{{7*7}} $(reboot) %s%n",
    "'; DROP TABLE groups; --",
    "../../etc/passwd",
    "=cmd|' /C calc'!A0",
    '"quoted", with commas',
    "\x1b[31mred\x1b[0m",
    "\x1b]0;new title\x07",
    "\x9b2Jc1-control",
    "two\nlines",
    "tab\tand\rreturn",
    "nul\x00byte",
    " spaces around ",
    "\u202egnp.exe",
    "zero\u200bwidth\u2066isolate\u2069",
    "🚀.launch.👩‍👩‍👧",
    "日本語.グループ",
    "kafka.orders",
    "kаfkа.orders",  # noqa: RUF001 - Cyrillic look-alikes
    "caf\u00e9",
    "cafe\u0301",
    LONG,
    LONGEST,
)
"""Every hostile id; the last but one is as long as a topic name may be, the last nearly as long as a string may be."""

EMPTY = frozenset({"[/red]", "a[b]c", "two\nlines", LONG, LONGEST, "\u202egnp.exe"})


def groups(topics: Topics) -> Iterator[Group]:
    """One group for each name: some Empty, so that they can be deleted, some with members that are as bad."""
    for name in NAMES:
        client = Client(f"client {name[:40]}")
        life = Settled(0 if name in EMPTY else 1)
        reads = [Reads(topics["catalog.changes"], Stuck(40), metadata=name[:60])]
        yield ClassicGroup(name, life, reads, client=client)


def forgotten(topics: Topics) -> Iterator[Group]:
    """Commits on topics that were deleted: Kafka's own tools fail on these."""
    yield ClassicGroup(
        "iot.migrate",
        Settled(2),
        [
            Reads(topics["iot.commands"]),
            Reads(topics.deleted("iot.raw", 6), Stuck(0), subscribed=False),
        ],
        client=Client("iot-migrate"),
    )
    yield ClassicGroup(
        "legacy.import-2019", Settled(0), [Reads(topics.deleted("legacy.feed.v0", 2), Stuck(0))], epoch=4
    )


def garbled(topics: Topics) -> Iterator[Group]:
    """Members that write something else than the protocol says: Kafka's own tools fail on these."""
    yield ClassicGroup(
        "node.mailmerge",
        Settled(2),
        [Reads(topics["emails.outbox"])],
        payload=RawPayload("RoundRobinAssigner", b"\0\1\0\0\0\1\0", b"\xde\xad\xbe\xef"),
        client=Client("platformatic"),
    )
    yield ClassicGroup(
        "node.mailmerge-empty",
        Settled(1),
        [Reads(topics["emails.outbox"])],
        payload=RawPayload("range", b"", b""),
        client=Client("platformatic"),
    )
    yield ClassicGroup(
        "connect-garbled",
        Settled(1),
        protocol="connect",
        payload=RawPayload("sessioned", b"\0\2\x7f\xff", b"\0\2\0\0\0\4ab"),
        client=Client("connect-fork"),
    )
    yield ClassicGroup(
        "schema-registry-garbled",
        Settled(1),
        protocol="sr",
        payload=RawPayload("v0", b'{"host": 7', b"[]"),
        client=Client("sr-fork"),
    )
