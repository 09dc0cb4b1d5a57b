"""`kgtui groups` has the options, output and exit codes of `kafka-groups.sh` in Kafka 4.3.1 (KIP-1043).

Unlike the script, the command can print JSON. If a broker fails, the command still prints the groups of the other
brokers, and exits with code 1.
"""

from __future__ import annotations

import sys
import time
from operator import itemgetter
from typing import TYPE_CHECKING

from kgtui.commands.kafka_options import KafkaOptionError, Option, Options, read_options, usage
from kgtui.errors import KgtuiError, UsageError
from kgtui.model.error_numbers import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE
from kgtui.model.group_types import GROUP_TYPES, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import Listing

KAFKA_VERSION = "4.3.1"
"""Version of Kafka whose `kafka-groups.sh` this command imitates. The option `--version` prints this version."""

TIMEOUT = 30.0
"""Timeout of every request, in seconds, as in Kafka's GroupsCommand."""

LOADING = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE})
"""Error codes of a broker whose group coordinator is not ready yet, for example because the broker has just started."""

PAUSE = 0.1
"""Pause, in seconds, before a request is repeated because the broker returned an error code in `LOADING`."""

LEAST_WIDTH = 20  # Minimum width of a column in the output of Kafka's GroupsCommand, in UTF-16 code units.
ABOUT = "This tool lists the groups of every type."

OPTIONS = (
    Option("bootstrap-server", "REQUIRED: broker to connect to first.", "server to connect to", required=True),
    Option("command-config", "File of client properties for the connection.", "command config property file"),
    Option("list", "Print the groups."),
    Option("group-type", f"Only groups of one type: {', '.join(map(repr, TYPES[:-1]))} or {TYPES[-1]!r}.", "type"),
    Option("protocol", "Only groups with this protocol type.", "protocol"),
    Option(
        "consumer",
        "Only consumer groups: groups of type 'consumer', and classic groups with protocol type 'consumer' or with "
        "none (simple groups).",
    ),
    Option("share", "Only share groups."),
    Option("streams", "Only streams groups."),
    Option("format", "'text' prints what Kafka's tool prints. 'json' is an addition of kgtui.", "format"),
    Option("help", "Print this.", waives_required=True),
    Option("version", "Print the version of the Kafka tool that this command imitates.", waives_required=True),
)


def main(words: Sequence[str]) -> int:
    """Run `kgtui groups` with the options of `kafka-groups.sh`, and return the exit code."""
    from kgtui.commands.printing import print_error, print_text

    try:
        options = read_options(words, OPTIONS)
        _check(options)
        if "version" in options:
            print_text(f"{KAFKA_VERSION}\n")
            return 0
        properties = _properties(options)
        servers = options.value("bootstrap-server") or ""
    except KafkaOptionError as error:
        print_error(f"{error}\n" + (usage(OPTIONS) if error.usage else ""))
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
    if not path.strip():
        raise KafkaOptionError("Option command-config: the value is empty", usage=False)
    from argparse import Namespace
    from pathlib import Path

    from kgtui.config import Settings, resolve

    try:
        return resolve(Settings(Path()), Namespace(command_config=path, bootstrap_server="localhost:9092")).properties
    except UsageError as error:
        raise KafkaOptionError(str(error), usage=False) from error


def _list(options: Options, servers: str, properties: dict[str, str]) -> int:
    from kgtui.commands.connecting import run_async
    from kgtui.commands.printing import print_bytes, print_error
    from kgtui.config import parse_bootstrap

    try:
        cluster, rows, faults = run_async(_read(parse_bootstrap(servers, "--bootstrap-server"), properties))
        rows = [(group, row) for group, row in rows if keeps(row, options)]
    except KgtuiError as error:
        print_bytes(f"Error while executing groups command : {error}\n".encode(errors="replace"))
        return 1
    if options.value("format") == "json":
        print_bytes(_json(cluster, rows, faults))
    else:
        print_bytes(_text(rows, harmless=sys.stdout.isatty()))
    for fault in faults:
        print_error(f"Error: broker {fault.broker}: {fault.message}\n")
    return 1 if faults else 0


async def _read(
    seeds: Sequence[str], properties: dict[str, str]
) -> tuple[ClusterInfo, list[tuple[str, Listing]], list[Fault]]:
    from kgtui.admin.kafka import connect

    async with connect(seeds, properties) as admin:
        return await list_all_groups(admin)


async def list_all_groups(admin: GroupAdmin) -> tuple[ClusterInfo, list[tuple[str, Listing]], list[Fault]]:
    """List the groups of all brokers.

    Returns:
        A tuple: the cluster, a list of pairs (group id, listing) sorted by id, and an error for each broker that could
            not list its groups.

    Raises:
        UnreachableError: no broker can be reached.
        ClientError: no broker could list its groups.
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
    """List the groups of one broker.

    While the broker returns an error code in `LOADING`, repeat the request for up to `TIMEOUT` seconds, as Kafka does.
    """
    import asyncio

    from kgtui.admin.deadline import Deadline
    from kgtui.errors import BrokerError

    feed = admin.listing_feed(node)
    deadline = Deadline(TIMEOUT)
    while True:
        try:
            return await feed.poll(timeout=deadline.left())
        except BrokerError as error:
            if error.code not in LOADING or deadline.over:
                raise
        await asyncio.sleep(PAUSE)


def keeps(row: Listing, options: Options) -> bool:
    """Return whether the options select a group, by the rules of Kafka's GroupsCommand.

    These options are `--group-type`, `--protocol`, `--consumer`, `--share` and `--streams`. Without them, every group
    is selected. `_check` has refused every combination of two of them, except `--group-type` with `--protocol`.
    """
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


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 code units. Kafka's scripts measure columns in these units."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def pad(text: str, width: int) -> str:
    """Pad a text to a width in UTF-16 code units, like Java's format `%-<width>s`."""
    return text + " " * (width - utf16_length(text))


def _text(rows: Iterable[tuple[str, Listing]], *, harmless: bool) -> bytes:
    from kgtui.model.text import visible

    cells = [(group, _type_text(row.type), row.protocol) for group, row in rows]
    if harmless:
        cells = [(visible(group), kind, visible(protocol)) for group, kind, protocol in cells]
    width = max([LEAST_WIDTH, *(utf16_length(cell) for line in cells for cell in line)])
    lines = [" ".join(pad(title, width) for title in ("GROUP", "TYPE", "PROTOCOL"))]
    lines += ["".join(pad(cell, width) + " " for cell in line) for line in cells]
    # As in Java, lone surrogates, which UTF-8 cannot encode, are replaced with question marks.
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
