"""Serve a simulated cluster until the process receives a signal, and optionally execute control commands from stdin.

A command is one line of JSON, such as `{"do": "black_hole", "node": 2}`. The response is also one line, such as
`{"ok": true}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from kgtui.simulator.cluster import Simulator
from kgtui.simulator.faults import FAULT_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.simulator.options import Options


MAX_COMMAND_SIZE = 1024 * 1024
"""Maximum length of a command in bytes.

This is enough for a command with a group id of 32,000 characters, even if JSON escapes all characters.
"""


async def serve(options: Options, *, write_line: Callable[[str], None], control: bool = False) -> None:
    """Start a cluster, write one line of JSON when it is ready, and serve until SIGINT, SIGTERM or SIGHUP.

    Args:
        control: whether to execute commands from stdin. If true, closing stdin also stops the cluster.

    Raises:
        UsageError: the options are invalid.
        OSError: a port is in use.
    """
    simulator = Simulator(
        brokers=options.brokers,
        groups=options.groups,
        partitions=options.partitions,
        seed=options.seed,
        kafka_version=options.kafka_version,
        scenario=options.scenario,
        churn=options.churn,
        features=options.features,
        host=options.host,
        port=options.port,
    )
    simulator.dispatcher.build_row_caches()
    # Exclude all existing objects from later garbage collections, which are then faster. The cluster needs these
    # objects until the process exits anyway.
    gc.collect()
    gc.freeze()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    async with simulator:
        write_line(json.dumps(_ready(simulator)))
        reader = loop.create_task(_read_commands(Control(simulator), write_line, stopped)) if control else None
        await stopped.wait()
        if reader is not None:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader


def _ready(simulator: Simulator) -> dict[str, Any]:
    state = simulator.state
    generated = len(state.generated.index) if state.generated is not None else 0
    return {
        "ready": True,
        "bootstrap": simulator.bootstrap,
        "brokers": [
            {"node": node.id, "address": f"{node.host}:{node.port}", "version": node.release.name}
            for node in state.nodes
        ],
        "groups": len(state.groups) + generated,
        "cluster_id": state.cluster_id,
    }


async def _read_commands(control: Control, write_line: Callable[[str], None], stopped: asyncio.Event) -> None:
    """Execute commands from stdin until stdin is closed, and then set the event `stopped`."""
    reader = asyncio.StreamReader(limit=MAX_COMMAND_SIZE)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while line := await reader.readline():
            if line.strip():
                write_line(await control.execute(line))
    finally:
        transport.close()
        stopped.set()


class Control:
    """Executes control commands, such as `{"do": "kill", "node": 2}`, on a running cluster."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        state = simulator.state
        self._commands: dict[str, Callable[..., Any]] = {
            name: getattr(simulator.faults, name) for name in FAULT_COMMANDS
        }
        self._commands |= {
            "advance": simulator.advance,
            "remove_group": state.remove_group,
            "delete_topic": state.delete_topic,
            "coordinator": lambda group: {"node": state.coordinator(group)},
            "stats": self._stats,
        }

    async def execute(self, line: str | bytes) -> str:
        """Execute one command. Return JSON: `{"ok": true, …}` with the result, or `{"ok": false, "error": …}`."""
        try:
            command, parameters = self._parse(line)
            result = command(**parameters)
            if inspect.isawaitable(result):
                result = await result
        except (ValueError, TypeError, KeyError, OSError) as err:
            return json.dumps({"ok": False, "error": str(err)})
        return json.dumps({"ok": True, **(result or {})})

    def _parse(self, line: str | bytes) -> tuple[Callable[..., Any], dict[str, Any]]:
        fields = json.loads(line)
        if not isinstance(fields, dict):
            raise TypeError("a command must be a JSON object")
        name = fields.pop("do", None)
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise ValueError(f"{name!r} is not a command; use one of {', '.join(sorted(self._commands))}")
        return command, fields

    def _stats(self) -> dict[str, Any]:
        simulator = self._simulator
        return {
            "requests": {str(node): server.requests for node, server in simulator.servers.items()},
            "connections": {str(node): len(server.connections) for node, server in simulator.servers.items()},
            "served": {str(key): count for key, count in simulator.dispatcher.request_counts.items()},
            "time": simulator.state.time(),
        }
