"""Opens sessions of the terminal UI. A session shows one cluster, one simulated cluster or one recording."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.connecting import open_recording
from kgtui.commands.time_options import parse_time
from kgtui.config import ASSUMED, Target, load, named, parse_bootstrap, protected, resolve, state_folder
from kgtui.errors import UnreachableError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kgtui.history.point_in_time import Comparison
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.event import Event
    from kgtui.model.timeline import GroupTimeline
    from kgtui.simulator.options import Options
    from kgtui.tui.session import ClusterChoice, Session

CONNECT_TIMEOUT = 3.0
"""Maximum time to wait for a broker's answer while kgtui tries to connect to a cluster, in seconds."""
_MAX_CALLS_PER_POLL = 8
"""Maximum number of calls of `LakeReplayPosition.advance` for which playback shows the same poll of a recording.

If it would take more calls to reach the next poll, the first call already moves to the next poll. Otherwise, playback
would seem to hang.
"""


class SessionOpener:
    """Opens sessions of the terminal UI with the user's settings.

    Args:
        args: the parsed command line.
        stack: exit stack that closes everything that this object has opened.
    """

    def __init__(self, args: argparse.Namespace, stack: AsyncExitStack) -> None:
        self._args = args
        self._stack = stack
        self._settings = load()
        self._opened: dict[str, tuple[Target, str | None]] = {}

    async def first(self) -> Session:
        """Open the first session, on the cluster that the command line or the configuration names.

        If neither names a cluster, try `localhost:9092`, and return a session without a cluster if no broker answers.
        """
        target = resolve(self._settings, self._args)
        attempts = await _failed_attempts(target) if target.source == ASSUMED else ()
        return (
            replace(self._empty(), failed_attempts=attempts)
            if attempts
            else await self._open(target, self._command_config(target))
        )

    async def demo(self, options: Options | None = None) -> Session:
        """Start a simulated cluster that runs until kgtui ends, and open a session on it."""
        from kgtui.simulator import Options as SimulatorOptions
        from kgtui.simulator import spawn

        process = await asyncio.to_thread(spawn, options or SimulatorOptions())
        self._stack.callback(process.stop)
        return await self._open(Target("demo", tuple(process.bootstrap.split(",")), source="demo"), None)

    async def connect(self, address: str) -> Session:
        """Open a session on a cluster at an address such as `host:9092`.

        Raises `ConfigError` if the address is not valid, and `UnreachableError` if no broker answers.
        """
        seeds = parse_bootstrap(address, "address")
        # Treat the address like the value of --bootstrap-server: if a configured cluster has this address, use the
        # color, the label and the read-only flag of this cluster.
        changed = {"bootstrap_server": address, "cluster": None}
        target = resolve(self._settings, type(self._args)(**(vars(self._args) | changed)))
        attempts = await _failed_attempts(target)
        if attempts:
            raise UnreachableError(f"{', '.join(seeds)} does not answer", attempts)
        return await self._open(target, self._command_config(target))

    async def another(self, name: str) -> Session:
        """Open a session on a cluster that is configured or was opened before, without waiting for a broker.

        Raises `ConfigError` if the configuration of the cluster is not valid.
        """
        # If the cluster was opened before, use the same settings again. Otherwise, ignore `--command-config`, which
        # applies only to the first cluster.
        if name in self._opened:
            target, command_config = self._opened[name]
        else:
            target = named(self._settings, name, self._args)
            command_config = self._settings.clusters[name].command_config or None
        return replace(await self._open(target, command_config), filter="")

    async def recording(self, lake: str, at: str) -> Session:
        """Open a session on a recording.

        Args:
            at: time that the user typed, such as `10:04`; empty for the end of the recording.

        Raises:
            LakeError: the recording cannot be read, or starts after `at`.
            UsageError: `at` is not a time.
        """
        return self.replay(await open_recording(lake, at or None, option="the time"))

    def replay(self, admin: ReplayAdmin) -> Session:
        """Return a session that replays the recording of `admin`. The session first shows the poll `admin.poll`.

        A poll is one read of the cluster by the recorder.
        """
        return _replay_session(self._empty(), admin)

    async def _open(self, target: Target, command_config: str | None) -> Session:
        from kgtui.admin.kafka import connect
        from kgtui.monitor import Monitor, MonitorOptions
        from kgtui.tui.session import ClusterLabel

        admin = connect(target.seeds, target.properties)
        # The session closes `connections` when the user opens a different cluster. If that does not happen,
        # `self._stack` closes them when kgtui ends.
        connections = await self._stack.enter_async_context(AsyncExitStack())
        connections.push_async_callback(admin.close)
        self._opened[target.name] = target, command_config
        interval = self._args.interval or self._settings.ui.interval
        label = ClusterLabel(
            target.name,
            ",".join(target.seeds),
            target.color or None,
            target.environment,
            command_config,
        )
        return replace(
            self._empty(),
            target=label,
            monitor=Monitor(admin, MonitorOptions(interval=interval)),
            admin=admin,
            read_only=target.read_only,
            close=connections.aclose,
            warnings=admin.warnings,
        )

    def _clusters(self) -> tuple[ClusterChoice, ...]:
        from kgtui.tui.session import ClusterChoice

        configured = self._settings.clusters
        if not configured:
            return ()
        others = [
            ClusterChoice(one.name, ",".join(one.seeds), one.color or None, one.environment, one.read_only)
            for one, _ in self._opened.values()
            if one.name not in configured
        ]
        return (
            *(
                ClusterChoice(
                    name, cluster.address, cluster.color or None, cluster.environment,
                    protected(cluster.read_only, self._args),
                )
                for name, cluster in sorted(configured.items())
            ),
            *others,
        )  # fmt: skip

    def _command_config(self, target: Target) -> str | None:
        cluster = self._settings.clusters.get(target.name)
        given = self._args.command_config or os.environ.get("KGTUI_COMMAND_CONFIG")
        return given or (cluster.command_config if cluster is not None else "") or None

    def _empty(self) -> Session:
        from kgtui.tui.session import ClusterLabel, Session
        from kgtui.tui.text import DisplaySettings

        args, settings = self._args, self._settings
        ascii_only = args.ascii or settings.ui.ascii
        display = DisplaySettings(ascii=ascii_only, utc=settings.ui.utc) if ascii_only or settings.ui.utc else None
        return Session(
            ClusterLabel(""),
            read_only=args.read_only,
            filter=args.filter,
            ui=replace(settings.ui, theme=args.theme or settings.ui.theme),
            keymap=settings.keys,
            presets=settings.presets,
            themes_folder=settings.path.parent / "themes",
            state_folder=state_folder(),
            config_file=settings.path,
            mouse=not args.no_mouse,
            display=display,
            open_address=self.connect,
            open_demo=self.demo,
            clusters=self._clusters(),
            open_recording=self.recording,
            open_cluster=None if self._opened.keys() == {"demo"} and not settings.clusters else self.another,
        )


async def _failed_attempts(target: Target) -> tuple[tuple[str, str], ...]:
    """Try to connect to a cluster. Return a pair (address, reason) per failed attempt; `()` if a broker answered."""
    from kgtui.admin.kafka import connect

    try:
        async with connect(target.seeds, target.properties) as admin:
            await admin.cluster(timeout=CONNECT_TIMEOUT)
    except UnreachableError as error:
        return error.attempts or ((", ".join(target.seeds), str(error)),)
    return ()


def _replay_session(empty: Session, admin: ReplayAdmin) -> Session:
    from kgtui.monitor import Monitor, MonitorOptions
    from kgtui.monitor.policy import REPLAY_INTERVAL
    from kgtui.tui.session import ClusterLabel

    path = admin.recording.path
    return replace(
        empty,
        target=ClusterLabel(path.name or str(path), str(path)),
        monitor=Monitor(
            admin,
            MonitorOptions(interval=REPLAY_INTERVAL, metadata_interval=REPLAY_INTERVAL),
            now=admin.now,
            recorded_at=lambda: admin.poll.at,
        ),
        admin=admin,
        replay_position=LakeReplayPosition(admin),
        lake=path,
        read_only=True,
        open_address=None,
        open_demo=None,
        clusters=(),
        open_cluster=None,
        open_recording=None,
    )


class LakeReplayPosition:
    """Selects which poll of a recording the terminal UI shows. A poll is one read of the cluster by the recorder.

    Attributes:
        playing: playback speed relative to real time, such as 10.0 for ten times as fast; None if playback is stopped.
    """

    def __init__(self, admin: ReplayAdmin) -> None:
        self._admin = admin
        self.playing: float | None = None
        self._ahead = 0.0
        self._ahead_of: RecordedPoll | None = None

    @property
    def at(self) -> float:
        """Time of the poll that is shown, in seconds since the epoch."""
        return self._admin.poll.at

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and the last poll of the recording, in seconds since the epoch."""
        lake = self._admin.recording
        return lake.first.at, lake.last.at

    async def step(self, by: int) -> bool:
        """Move forward by `by` recorded polls, or back if `by` is negative.

        Returns False, and does not move, if the recording has too few polls in this direction.
        """
        return await self._admin.step(by) is not None

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Move to the next poll at which the given group changed, or to the previous such poll if `back` is true.

        Returns False if there is no such poll. Changes of offsets are ignored.
        """
        return await self._admin.next_change(group, back=back) is not None

    async def go_to(self, text: str) -> None:
        """Move to the time that the user typed, such as `10:04`, or `15m` for 15 minutes before the end.

        Raises:
            UsageError: the text is not a time.
            LakeError: the recording cannot be read, or starts after this time.
        """
        await self._admin.seek(parse_time("the time", text, self._admin.recording.last.at))

    async def seek(self, at: float) -> None:
        """Move to the last poll at or before the time `at`, in seconds since the epoch.

        Raises `LakeError` if the recording cannot be read, or starts after `at`.
        """
        await self._admin.seek(at)

    async def advance(self, seconds: float) -> bool:
        """Move forward by `seconds` of recorded time. Return False if the last poll of the recording is already shown.

        If the next poll is more than `seconds` later, normally keep showing the same poll; the next call then adds its
        `seconds` to those of this call. But move to the next poll at once if the recording has a gap before it, or if
        reaching it would take too many calls (see `_MAX_CALLS_PER_POLL`).
        """
        shown = self._admin.poll
        self._ahead = self._ahead + seconds if self._ahead_of == shown else seconds
        self._ahead_of = shown
        lake = self._admin.recording
        following = lake.step(shown)
        if following is None:
            return False
        reached = lake.poll_at(shown.at + self._ahead)
        if reached == shown:
            if not following.gap and following.at - shown.at - self._ahead < _MAX_CALLS_PER_POLL * seconds:
                return True
            reached = following
        await self._admin.seek(reached)
        self._ahead, self._ahead_of = max(shown.at + self._ahead - reached.at, 0.0), reached
        return True

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Return a group's lag, rates and changes between two times in seconds since the epoch.

        Raises `LakeError`.
        """
        return await asyncio.to_thread(self._admin.recording.group_timeline, group, since, until)

    async def events(self, since: float, until: float) -> Sequence[Event]:
        """Return the events between two times in seconds since the epoch, oldest first. Raises `LakeError`."""
        from kgtui.history.recorded_events import recorded_events

        return await asyncio.to_thread(lambda: tuple(recorded_events(self._admin.recording, since, until)))

    async def compare(self, at: float) -> Comparison:
        """Return the differences between two polls: the last one at or before the time `at`, and the one that is shown.

        Raises `LakeError` if the recording cannot be read, or starts after `at`.
        """
        return await asyncio.to_thread(self._admin.recording.compare, at, self._admin.poll)
