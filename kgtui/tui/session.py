"""What the app is started with: one cluster, its monitor, who may change it, and the user's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgtui.config import StateFolder, state_folder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.options import RecorderStatus
    from kgtui.history.point_in_time import Comparison
    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.model.timeline import GroupTimeline
    from kgtui.tui.text import DisplaySettings


class GroupMonitor(Protocol):
    """The part of `kgtui.monitor.Monitor` that the screen uses."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; an empty one before the first poll."""
        ...

    @property
    def paused(self) -> bool: ...

    @property
    def interval(self) -> float:
        """Seconds between two polls of a broker."""
        ...

    @property
    def series(self) -> SeriesStore:
        """Samples over time of the groups that were selected or in view."""
        ...

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]: ...

    def set_view(self, selected: str | None, visible: Sequence[str] = ()) -> None: ...

    def want_configs(self, group: str | None) -> None: ...

    async def run(self) -> None: ...

    def refresh(self) -> None: ...

    def forget(self, groups: Iterable[str]) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set_interval(self, seconds: float) -> None: ...


class ReplayPosition(Protocol):
    """The point in time of a recording that the screen shows, and moves to others. Each move raises `KgtuiError`.

    Attributes:
        playing: speed at which the recording plays, as a multiple of real time; None while it does not play.
    """

    playing: float | None

    @property
    def at(self) -> float:
        """Time of the poll that is shown, in seconds since the epoch."""
        ...

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and the last poll of the recording, in seconds since the epoch."""
        ...

    async def step(self, by: int) -> bool:
        """Move by a number of polls, backward if it is negative; return False if there is no such poll."""
        ...

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Move to the next or the previous poll at which a group changed; return False if there is no such poll."""
        ...

    async def go_to(self, words: str) -> None:
        """Move to a time as a user types it, such as `10:04`, or `15m` for 15 minutes before the end."""
        ...

    async def seek(self, at: float) -> None:
        """Move to the newest poll at or before a time in seconds since the epoch."""
        ...

    async def advance(self, seconds: float) -> bool:
        """Move forward by seconds of recorded time, skipping gaps; return False at the end."""
        ...

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Return the history of a group in an interval given in seconds since the epoch."""
        ...

    async def compare(self, at: float) -> Comparison:
        """Return the differences between the poll at a time, in seconds since the epoch, and the one that is shown."""
        ...


class OngoingRecording(Protocol):
    """A recording of the session's cluster that this program is writing.

    Attributes:
        path: the folder of the recording.
    """

    path: Path

    @property
    def status(self) -> RecorderStatus | None:
        """Progress of the recorder; None before it started."""
        ...

    async def end(self) -> None:
        """Write what is not written yet, and stop."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster of a session.

    Attributes:
        name: configured name, or the bootstrap addresses.
        bootstrap: `host:port`, comma separated.
        color: background color of the name in the header, any that Textual knows; None for the theme's.
        environment: a label such as `PROD`, or empty.
        command_config: path of the client properties file, for the equivalent Kafka command.
    """

    name: str
    bootstrap: str = ""
    color: str | None = None
    environment: str = ""
    command_config: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """A cluster that can be opened from the cluster dialog.

    Attributes:
        name: argument of `Session.open_cluster`.
        bootstrap: `host:port`, comma separated.
        color: background color of the name, any that Textual knows; None for the theme's.
        environment: a label such as `PROD`, or empty.
        read_only: whether changes to this cluster are disabled.
    """

    name: str
    bootstrap: str = ""
    color: str | None = None
    environment: str = ""
    read_only: bool = False


@dataclass(slots=True)
class Session:
    """One run of the screen on one cluster.

    Attributes:
        monitor: polls the cluster; None without a cluster, in which case the start screen asks for one.
        admin: reads and changes the cluster, for actions such as delete.
        read_only: whether all actions that change the cluster are removed from keys and palette.
        filter: filter expression at the start.
        theme: name of the theme; None for the default theme.
        keymap: keys by action id, comma separated.
        presets: filter expressions by name.
        themes_folder: folder of the user's own themes.
        state_folder: the folder of backups, the audit log, recordings, exports and crash reports.
        config_file: path of the configuration file, whether it exists or not.
        mouse: whether the screen uses the mouse; False leaves it to the terminal.
        display: how times and marks are written; None to detect it from the terminal.
        open_address: opens a session for an address typed on the start screen, or raises `KgtuiError`.
        open_demo: starts the demo cluster and opens a session for it; None where there is no demo.
        failed_attempts: `(address, reason)` of each address that did not answer before the start screen appeared.
        clusters: the clusters that can be opened instead; empty when none is configured.
        open_cluster: opens a session on one of `clusters` by name, whether it answers or not, or raises `KgtuiError`;
            None where there is no other cluster.
        close: closes the connections of the session; called when another session takes its place.
        replay_position: position in the recording, if the session replays one; None on a live cluster.
        lake: folder of the recording that is replayed; None on a live cluster.
        open_recording: opens a session on a recording, given its folder and a time as a user types it (`` for the end),
            or raises `KgtuiError`; None where recordings cannot be opened.
        live_session: the live session over which a recording was opened, and which continues below it.
        warnings: sentences about the cluster's configuration that the user should read.
        monitor_task: the running task of `monitor.run()`, if it was started before the app; the app ends it.
        recording: the recording of the cluster that is being written; None when there is none.
    """

    target: Target
    monitor: GroupMonitor | None = None
    admin: GroupAdmin | None = None
    read_only: bool = False
    filter: str = ""
    theme: str | None = None
    keymap: Mapping[str, str] = field(default_factory=dict)
    presets: Mapping[str, str] = field(default_factory=dict)
    themes_folder: Path | None = None
    state_folder: StateFolder = field(default_factory=state_folder)
    config_file: Path | None = None
    mouse: bool = True
    display: DisplaySettings | None = None
    open_address: Callable[[str], Awaitable[Session]] | None = None
    open_demo: Callable[[], Awaitable[Session]] | None = None
    failed_attempts: tuple[tuple[str, str], ...] = ()
    clusters: tuple[ClusterChoice, ...] = ()
    open_cluster: Callable[[str], Awaitable[Session]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    replay_position: ReplayPosition | None = None
    lake: Path | None = None
    open_recording: Callable[[str, str], Awaitable[Session]] | None = None
    live_session: Session | None = None
    warnings: tuple[str, ...] = ()
    monitor_task: asyncio.Task[None] | None = None
    recording: OngoingRecording | None = None
