"""From options and configuration to a cluster: which one, how to log in, how long to wait."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.commands.printing import notify
from kgtui.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.snapshot import Snapshot

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0


def timeout_of(args: argparse.Namespace) -> float:
    """Seconds for the whole command. Raises `UsageError`."""
    timeout = DEFAULT_TIMEOUT if args.timeout is None else float(args.timeout)
    if not 0 < timeout < float("inf"):
        raise UsageError("--timeout takes a number of seconds above 0")
    return timeout


@asynccontextmanager
async def connected(args: argparse.Namespace) -> AsyncIterator[KafkaGroupAdmin]:
    """The cluster that the options mean, closed at the end; a `--timeout` not given is that of the properties.

    Raises:
        ConfigError: options or configuration are wrong.
        UnreachableError: inside the block; says so when the cluster was only a guess.
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
    """The recorded moment that `--lake` and `--at` mean; None where a cluster is meant. Raises `UsageError`."""
    if args.lake is not None:
        return _recorded(args)
    if args.at is not None:
        raise UsageError("--at needs --lake: a cluster only knows the present")
    return None


@asynccontextmanager
async def _recorded(args: argparse.Namespace) -> AsyncIterator[ReplayAdmin]:
    yield await open_recording(args.lake, args.at)


async def open_recording(lake: str, at: str | None, *, option: str = "--at") -> ReplayAdmin:
    """Open a recording at a point in time, by default at its end.

    Raises:
        LakeError: there is no recording that can be read.
        UsageError: `at` is not a time; the message names `option`.
    """
    from kgtui.history import RecordingReader, ReplayAdmin

    found = await asyncio.to_thread(RecordingReader, lake)
    if at is None:
        return await ReplayAdmin.open(found, None)
    from kgtui.commands.times import instant_of

    return await ReplayAdmin.open(found, instant_of(option, at, found.last.at))


def as_of(snapshot: Snapshot, admin: GroupAdmin) -> Snapshot:
    """The snapshot with the time of the recorded moment, if it was taken of one."""
    moment: RecordedPoll | None = getattr(admin, "poll", None)
    return snapshot if moment is None else replace(snapshot, taken_at=moment.at)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine. Ctrl-C cancels it, so that connections are closed, and is then `KeyboardInterrupt`."""
    return asyncio.run(work)
