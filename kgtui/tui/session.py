"""The session with which the app is started: one cluster or recording, its monitor, and settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgtui.config import StateFolder, UiSettings, state_folder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from textual.worker import Worker

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.options import RecorderStatus
    from kgtui.history.point_in_time import Comparison
    from kgtui.lake.store import LakePath
    from kgtui.model.event import Event
    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.model.timeline import GroupTimeline
    from kgtui.tui.text import DisplaySettings


class GroupMonitor(Protocol):
    """The part of `kgtui.monitor.Monitor` that the terminal UI uses."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; before the first poll, an empty snapshot."""
        ...

    @property
    def paused(self) -> bool: ...

    @property
    def interval(self) -> float:
        """Time between two polls of a broker, in seconds."""
        ...

    @property
    def series(self) -> SeriesStore:
        """Samples of lag and number of members, for each group that has been selected or visible since the start."""
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
    """The recorded time that the terminal UI shows, with methods that move it to another poll.

    All methods that move the position raise `KgtuiError` if the recording cannot be read.

    Attributes:
        playing: speed at which the recording plays, as a multiple of real time; None while the recording is stopped.
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
        """Move forward by a number of polls, or backward if the number is negative.

        Return False and do not move if the recording has not enough polls.
        """
        ...

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Move to the next poll at which a group changed, or to the previous such poll if `back` is true.

        Changes of the group's offsets are ignored. Return False and do not move if there is no such poll.
        """
        ...

    async def go_to(self, words: str) -> None:
        """Move to a time that the user typed, such as `10:04`, or `15m` for 15 minutes before the end."""
        ...

    async def seek(self, at: float) -> None:
        """Move to the newest poll at or before the time `at`, in seconds since the epoch."""
        ...

    async def advance(self, seconds: float) -> bool:
        """Move forward by a number of recorded seconds. Periods in which nothing was recorded are skipped.

        Return False at the end of the recording.
        """
        ...

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Return the history of a group from `since` to `until`, in seconds since the epoch."""
        ...

    async def events(self, since: float, until: float) -> Sequence[Event]:
        """Return the events from `since` to `until`, oldest first. Times are in seconds since the epoch."""
        ...

    async def compare(self, at: float) -> Comparison:
        """Return the differences between the displayed poll and the poll at `at` seconds since the epoch."""
        ...


class OngoingRecording(Protocol):
    """A recording of the session's cluster that kgtui is writing now.

    Attributes:
        path: the folder of the recording.
    """

    path: LakePath

    @property
    def status(self) -> RecorderStatus | None:
        """Progress of the recorder; None if it has not been started yet."""
        ...

    async def end(self) -> None:
        """Stop recording, and wait until all rows are written."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster of a session.

    Attributes:
        name: the name in the configuration; the bootstrap addresses if the cluster is not configured.
        bootstrap: one or more addresses `host:port`, separated by commas.
        color: background color of the name in the header, in Textual's notation; None for a color of the theme.
        environment: a label such as `PROD`; empty if the cluster has no label.
        command_config: path of the client properties file, for Kafka commands that are shown to the user; None if these
            commands need no such file.
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
        name: the name in the configuration, and the argument of `Session.open_cluster`.
        bootstrap: one or more addresses `host:port`, separated by commas.
        color: background color of the name in the list, in Textual's notation; None for a color of the theme.
        environment: a label such as `PROD`; empty if the cluster has no label.
        read_only: whether kgtui must not change this cluster.
    """

    name: str
    bootstrap: str = ""
    color: str | None = None
    environment: str = ""
    read_only: bool = False


@dataclass(slots=True)
class Session:
    """One cluster or recording that is open in the terminal UI, with its settings.

    Attributes:
        target: the cluster.
        monitor: polls the cluster. None if no cluster is open; the start screen then asks for a cluster.
        admin: reads and changes the cluster, for actions such as delete; None if no cluster is open.
        read_only: whether keys and palette have no actions that change the cluster.
        filter: filter expression in the filter bar when the session starts.
        ui: the table `[ui]` of `config.toml`, changed by the options of the command line.
        keymap: action id → keys that the user configured for the action, separated by commas.
        presets: name → filter expression that the user saved under this name.
        themes_folder: folder of the user's own themes; None if there is no such folder.
        state_folder: the folder of backups, the audit log, recordings, exports and crash reports.
        config_file: path of the configuration file; the file may not exist. None if there is no such path.
        mouse: whether kgtui handles the mouse; if False, the terminal handles it, for example to select text.
        display: settings for the display of symbols, text and times; None to detect them from the terminal.
        open_address: opens a session on the address that the user typed on the start screen. Raises `KgtuiError` if the
            address is invalid or no broker answers. None if addresses cannot be opened.
        open_demo: starts the demo cluster and opens a session on it; None if the demo is not offered.
        failed_attempts: `(address, reason)` of each address that did not answer before the start screen appeared.
        clusters: the configured clusters, to which the user can switch.
        open_cluster: opens a session on one of `clusters`, given its name, even if no broker answers. Raises
            `KgtuiError` if the configuration of the cluster is invalid. None if there is no cluster to switch to.
        close: closes the connections of the session after the app has switched to another session.
        replay_position: position in the recording that the session replays; None on a live cluster.
        lake: folder of the recording that the session replays; None on a live cluster.
        open_recording: opens a session that replays a recording. Its arguments are the folder of the recording and a
            time that the user typed (`""` for the end). Raises `KgtuiError` if folder or time are invalid. None if
            recordings cannot be opened.
        live_session: the live session over which this session's recording was opened. The live session continues to
            poll. None if this session is live or was started as a replay.
        warnings: sentences about the cluster's configuration that the user should read.
        monitor_task: the task that runs `monitor.run()`, if it was started before the app; it is canceled when the app
            ends. None if the app must start the monitor.
        recording: the recording of this cluster that kgtui is writing now; None if kgtui is not recording.
    """

    target: Target
    monitor: GroupMonitor | None = None
    admin: GroupAdmin | None = None
    read_only: bool = False
    filter: str = ""
    ui: UiSettings = field(default_factory=UiSettings)
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
    lake: LakePath | None = None
    open_recording: Callable[[str, str], Awaitable[Session]] | None = None
    live_session: Session | None = None
    warnings: tuple[str, ...] = ()
    monitor_task: asyncio.Task[None] | None = None
    recording: OngoingRecording | None = None


@dataclass(slots=True)
class Playback:
    """The state of the replay actions of one screen.

    Attributes:
        session: the session that the screen shows.
        speed: playing speed, as a multiple of real time.
        worker: the worker that plays the recording; None while the recording is stopped.
        remembered: the time that the user has saved with key `m` for a comparison, in seconds since the epoch.
        last_opened: session of the recording that was last opened from this screen; None if no recording was opened.
            Its `replay_position` is the time that was displayed last.
    """

    session: Session
    speed: int = 60
    worker: Worker[None] | None = None
    remembered: float | None = None
    last_opened: Session | None = None

    def stop(self) -> bool:
        """Stop playing, and return whether the recording was playing."""
        worker, self.worker = self.worker, None
        if worker is None or self.session.replay_position is None:
            return False
        worker.cancel()
        self.session.replay_position.playing = None
        return True
