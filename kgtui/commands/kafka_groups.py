"""`kgtui groups`: the options and the output of `kafka-groups.sh` (Kafka's GroupsCommand, KIP-1043), and JSON.

Where that tool gives up because one broker fails, the rest is printed, the error goes to stderr and the exit code is 1.
"""

from __future__ import annotations

import sys
import time
from operator import itemgetter
from typing import TYPE_CHECKING

from kgtui.commands.kafka_options import (
    KAFKA_VERSION,
    KafkaOptionError,
    Option,
    Options,
    pad,
    read_options,
    usage,
    utf16_length,
)
from kgtui.errors import KgtuiError, UsageError
from kgtui.model.group_types import GROUP_TYPES, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import Listing

TIMEOUT = 30.0
"""Seconds, as fixed in GroupsCommand."""

LOADING = frozenset({14, 15})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE."""

PAUSE = 0.1
"""Seconds before a broker that loads is asked again."""

LEAST_WIDTH = 20
ABOUT = "This tool lists the groups of every type."

OPTIONS = (
    Option("bootstrap-server", "REQUIRED: address of a broker to start from.", "server to connect to", required=True),
    Option("command-config", "File of client properties for the connection.", "command config property file"),
    Option("list", "Print the groups."),
    Option("group-type", f"Only groups of one type: {', '.join(map(repr, TYPES[:-1]))} or {TYPES[-1]!r}.", "type"),
    Option("protocol", "Only groups with this protocol type.", "protocol"),
    Option(
        "consumer",
        "Only consumer groups of every kind: of type 'consumer', and with a protocol type that is 'consumer' or empty "
        "(classic and simple ones).",
    ),
    Option("share", "Only share groups."),
    Option("streams", "Only streams groups."),
    Option("format", "text, as Kafka's tool prints, or json (not in Kafka's tool).", "format"),
    Option("help", "Print this.", stops=True),
    Option("version", "Print the version of Kafka whose tool this follows.", stops=True),
)


def main(words: Sequence[str]) -> int:
    """Run with the options of kafka-groups.sh; the exit code."""
    try:
        options = read_options(words, OPTIONS)
        _check(options)
        if "version" in options:
            sys.stdout.write(KAFKA_VERSION + "\n")
            return 0
        properties = _properties(options)
        servers = options.value("bootstrap-server") or ""
    except KafkaOptionError as error:
        sys.stderr.write(f"{error}\n" + (usage(OPTIONS) if error.usage else ""))
        return error.exit_code
    return _list(options, servers, properties)


def _check(options: Options) -> None:
    if "help" in options:
        raise KafkaOptionError(ABOUT)
    if "version" in options:
        return
    if "list" not in options:
        raise KafkaOptionError("Command must include exactly one action: --list.")
    group_type = options.value("group-type")
    if group_type is not None and group_type.lower() not in GROUP_TYPES:
        raise KafkaOptionError("--group-type must be a valid group type.", usage=False)
    options.refuse("consumer", ("group-type", "protocol", "share", "streams"))
    options.refuse("share", ("consumer", "group-type", "protocol", "streams"))
    options.refuse("streams", ("consumer", "group-type", "protocol", "share"))
    if (options.value("format") or "text") not in ("text", "json"):
        raise KafkaOptionError("--format must be text or json.")


def _properties(options: Options) -> dict[str, str]:
    path = options.value("command-config")
    if path is None:
        return {}
    from argparse import Namespace
    from pathlib import Path

    from kgtui.config import Settings, resolve

    try:
        return resolve(Settings(Path()), Namespace(command_config=path, bootstrap_server="localhost:9092")).properties
    except UsageError as error:
        raise KafkaOptionError(str(error), usage=False) from error


def _list(options: Options, servers: str, properties: dict[str, str]) -> int:
    from kgtui.commands.connecting import run_async
    from kgtui.commands.printing import put_bytes
    from kgtui.config import parse_bootstrap

    try:
        cluster, rows, faults = run_async(_read(parse_bootstrap(servers, "--bootstrap-server"), properties))
        rows = [(group, row) for group, row in rows if keeps(row, options)]
    except KgtuiError as error:
        put_bytes(f"Error while executing groups command : {error}\n".encode(errors="replace"))
        return 1
    if options.value("format") == "json":
        put_bytes(_json(cluster, rows, faults))
    else:
        put_bytes(_text(rows, harmless=sys.stdout.isatty()))
    for fault in faults:
        sys.stderr.write(f"Error: broker {fault.broker}: {fault.message}\n")
    return 1 if faults else 0


async def _read(
    seeds: Sequence[str], properties: dict[str, str]
) -> tuple[ClusterInfo, list[tuple[str, Listing]], list[Fault]]:
    from kgtui.admin.kafka import connect

    async with connect(seeds, properties) as admin:
        return await list_as_told(admin)


async def list_as_told(admin: GroupAdmin) -> tuple[ClusterInfo, list[tuple[str, Listing]], list[Fault]]:
    """Every group as its broker lists it: a type that an old broker does not tell stays untold, as in Kafka's tool.

    Raises `UnreachableError`, or the error of the last broker when none answers.
    """
    import asyncio

    from kgtui.errors import ClientError
    from kgtui.model.answer import fault_of

    cluster = await admin.cluster(timeout=TIMEOUT)
    nodes = sorted(cluster.brokers)
    deltas = await asyncio.gather(*(_poll(admin, node) for node in nodes), return_exceptions=True)
    rows: list[tuple[str, Listing]] = []
    faults: list[Fault] = []
    for delta in deltas:
        if isinstance(delta, ClientError):
            faults.append(fault_of(delta))
        elif isinstance(delta, BaseException):
            raise delta
        else:
            rows += delta.updated.items()
    if nodes and len(faults) == len(nodes):
        raise next(delta for delta in deltas if isinstance(delta, ClientError))
    return cluster, sorted(rows, key=itemgetter(0)), faults


async def _poll(admin: GroupAdmin, node: int) -> ListingDelta:
    """One broker's list; as Kafka's client, ask again while its coordinator loads."""
    import asyncio

    from kgtui.errors import BrokerError

    feed = admin.listing_feed(node)
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return await feed.poll(timeout=max(end - time.monotonic(), 0.001))
        except BrokerError as error:
            if error.code not in LOADING or time.monotonic() > end:
                raise
        await asyncio.sleep(PAUSE)


def keeps(row: Listing, options: Options) -> bool:
    """GroupsCommand's filter: the first of these options that is given decides."""
    group_type, protocol = options.value("group-type"), options.value("protocol")
    if group_type is not None:
        return row.type == group_type.lower() and (protocol is None or row.protocol == protocol)
    if protocol is not None:
        return row.protocol == protocol
    if "consumer" in options:
        return row.protocol in ("consumer", "") or row.type == "consumer"
    if "share" in options:
        return row.type == "share"
    return row.type == "streams" if "streams" in options else True


def _text(rows: Iterable[tuple[str, Listing]], *, harmless: bool) -> bytes:
    from kgtui.model.text import visible

    cells = [(group, _type_text(row.type), row.protocol) for group, row in rows]
    if harmless:
        cells = [(visible(group), kind, visible(protocol)) for group, kind, protocol in cells]
    width = max([LEAST_WIDTH, *(utf16_length(cell) for line in cells for cell in line)])
    lines = [" ".join(pad(title, width) for title in ("GROUP", "TYPE", "PROTOCOL"))]
    lines += ["".join(pad(cell, width) + " " for cell in line) for line in cells]
    # As Java's streams: what cannot be encoded becomes a question mark.
    return ("\n".join(lines) + "\n").encode(errors="replace")


def _type_text(group_type: str | None) -> str:
    if group_type is None:
        return ""
    return GROUP_TYPES[group_type].title if group_type in GROUP_TYPES else "Unknown"


def _json(cluster: ClusterInfo, rows: Sequence[tuple[str, Listing]], faults: Sequence[Fault]) -> bytes:
    from kgtui.model.answer import Coverage
    from kgtui.output import formats

    groups = [
        {
            "group": group,
            "type": row.type,
            "protocol": row.protocol,
            "state": row.state,
            "coordinator": row.coordinator,
        }
        for group, row in rows
    ]
    brokers = len(cluster.brokers)
    coverage = Coverage((brokers - len(faults), brokers), (len(rows), len(rows)))
    return formats.json_bytes(formats.document(cluster, time.time(), coverage, groups, faults))
