"""Connects to the cluster that the options or the configuration name, or opens the recording in the options."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kgtui.commands.printing import notify
from kgtui.errors import UnreachableError, UsageError
from kgtui.model import defaults

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.snapshot import Snapshot

T = TypeVar("T")


def timeout_of(args: argparse.Namespace) -> float:
    """Return the value of `--timeout` in seconds, or the default."""
    return defaults.TIMEOUT if args.timeout is None else float(args.timeout)


@asynccontextmanager
async def connected(args: argparse.Namespace) -> AsyncIterator[KafkaGroupAdmin]:
    """Connect to the cluster in the options or the configuration, and close the connections at the end.

    If `--timeout` is not given, but the client property `default.api.timeout.ms` is set, the value of the property is
    stored in `args.timeout`, in seconds.

    Raises:
        ConfigError: the options or the configuration are wrong.
        UnreachableError: no broker answered a request in the `async with` block.
    """
    from kgtui.admin.kafka import connect
    from kgtui.config import ASSUMED, load, resolve

    target = resolve(load(), args)
    async with connect(target.seeds, target.properties) as admin:
        for warning in admin.warnings:
            notify(warning)
        if args.timeout is None and admin.api_timeout is not None:
            args.timeout = admin.api_timeout
        try:
            yield admin
        except UnreachableError as error:
            if target.source != ASSUMED:
                raise
            raise UnreachableError(f"{ASSUMED}, and {error}", error.attempts) from error


def recorded(args: argparse.Namespace) -> AbstractAsyncContextManager[ReplayAdmin] | None:
    """Return a context manager that opens the recording `--lake` at the time `--at`; None if `--lake` is not given.

    If the options also name a cluster, tell the user on stderr that the cluster is not used.

    Raises:
        UsageError: `--at` is given without `--lake`.
    """
    if args.lake is not None:
        for option in ("bootstrap_server", "cluster"):
            if getattr(args, option, None):
                notify(f"--{option.replace('_', '-')} is not used, because --lake names a recording")
        return _recorded(args)
    if args.at is not None:
        raise UsageError("--at needs --lake, because a cluster reports only its current state")
    return None


@asynccontextmanager
async def _recorded(args: argparse.Namespace) -> AsyncIterator[ReplayAdmin]:
    yield await open_recording(args.lake, args.at)


async def open_recording(lake: str, at: str | None, *, option: str = "--at") -> ReplayAdmin:
    """Open a recording at a point in time.

    Args:
        at: the time as the user typed it; None for the end of the recording.
        option: command-line option whose value is `at`, for error messages.

    Raises:
        LakeError: the recording starts after `at`, or cannot be read.
        UsageError: `at` is not a time.
    """
    from kgtui.history import RecordingReader, ReplayAdmin

    reader = await asyncio.to_thread(RecordingReader, lake)
    if at is None:
        return await ReplayAdmin.open(reader, None)
    from kgtui.commands.time_options import parse_time

    return await ReplayAdmin.open(reader, parse_time(option, at, reader.last.at))


async def as_of(snapshot: Snapshot, admin: GroupAdmin) -> Snapshot:
    """Add two things to a recorded snapshot: when it was recorded, and when each group entered its current state.

    Returns a copy of the snapshot. If `admin` reads a live cluster, the snapshot is returned unchanged.
    """
    poll: RecordedPoll | None = getattr(admin, "poll", None)
    if poll is None:
        return snapshot
    since, search = await cast("ReplayAdmin", admin).state_times()
    return replace(snapshot, taken_at=poll.at, state_since=since, state_search=search)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine of a command, and return its result.

    On Ctrl-C, the coroutine is canceled and closes its connections. Then `KeyboardInterrupt` is raised.
    """
    return asyncio.run(work)
