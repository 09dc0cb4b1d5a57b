"""`Session`: one open cluster or recording, with its monitor and settings."""

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
    """The part of `kgtui.monitor.Monitor` that the terminal UI uses. A monitor polls one cluster or recording."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot (all data about the cluster at one time). Before the first poll, it has no groups."""
        ...

    @property
    def paused(self) -> bool: ...

    @property
    def interval(self) -> float:
        """Time between two polls of a broker, in seconds. Slow brokers are polled less often."""
        ...

    @property
    def series(self) -> SeriesStore:
        """Past lags and member counts of groups that are or were selected, visible, or suspected to have a problem."""
        ...

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]: ...

    def set_view(self, selected: str | None, visible: Sequence[str] = ()) -> None: ...

    def note_input(self) -> None: ...

    def want_configs(self, group: str | None) -> None: ...

    async def run(self) -> None: ...

    def refresh(self) -> None: ...

    def forget(self, groups: Iterable[str]) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set_interval(self, seconds: float) -> None: ...


class ReplayPosition(Protocol):
    """The displayed time in a recording, and methods that move it.

    A recording consists of polls. One poll is one recorded reading of all groups of a cluster. The methods raise
    `KgtuiError` if the recording cannot be read.

    Attributes:
        playing: playing speed as a multiple of real time; None while the recording is not playing.
    """

    playing: float | None

    @property
    def at(self) -> float:
        """Time of the displayed poll (one recorded reading of the cluster), in seconds since the epoch."""
        ...

    @property
    def span(self) -> tuple[float, float]:
        """Times of the first and the last poll (recorded reading of the cluster), in seconds since the epoch."""
        ...

    async def step(self, by: int) -> bool:
        """Move forward by `by` polls (recorded readings of the cluster), or back if `by` is negative.

        If the recording has too few polls in this direction, do not move, and return False.
        """
        ...

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Move to the next change of the group or, if `back` is true, to the previous change.

        If the recording contains no change in this direction, do not move, and return False. Changes of the group's
        offsets are ignored.
        """
        ...

    async def go_to(self, words: str) -> None:
        """Move to the time that the user typed, such as `10:04`, or `15m` for 15 minutes before the recording's end."""
        ...

    async def seek(self, at: float) -> None:
        """Display the newest poll (recorded reading of the cluster) at or before the time `at`, in epoch seconds.

        Raises `KgtuiError` if the recording starts after `at`.
        """
        ...

    async def advance(self, seconds: float) -> bool:
        """Move forward by `seconds` seconds of recorded time. Return False if the last poll is already displayed.

        A poll is one recorded reading of the cluster. If the next poll is more than `seconds` later, the same poll
        normally stays displayed, and the next call adds its seconds to the seconds of this call. But the next poll is
        displayed immediately if nothing was recorded for a while before it, or if too many calls would be needed to
        reach it.
        """
        ...

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Return a group's lag, rates and changes between two times, in seconds since the epoch."""
        ...

    async def events(self, since: float, until: float) -> Sequence[Event]:
        """Return the events between two times, in seconds since the epoch, oldest first."""
        ...

    async def compare(self, at: float) -> Comparison:
        """Return what changed in the cluster between the displayed time and the time `at`, in seconds since the epoch.

        `at` can be before or after the displayed time. The result always describes the changes from the earlier to the
        later time.
        """
        ...


class OngoingRecording(Protocol):
    """A recording that kgtui is writing now.

    Attributes:
        path: folder of the recording.
    """

    path: LakePath

    @property
    def status(self) -> RecorderStatus | None:
        """Progress of the recorder; None if it has not started."""
        ...

    async def end(self) -> None:
        """Stop recording, and wait until all rows are written, but at most 10 s."""
        ...


@dataclass(frozen=True, slots=True)
class ClusterLabel:
    """What the screen shows about the cluster of a session: name, addresses and color.

    Attributes:
        name: the configured name, or else the first bootstrap address. For a recording, the name of its folder.
        bootstrap: addresses `host:port`, separated by commas. For a recording, the path of its folder.
        color: background color in Textual's notation, such as `red`; None for the default color of the theme.
        environment: a label such as `PROD`; empty if there is none.
        command_config: path for the option `--command-config` in Kafka commands that kgtui shows; None to omit it.
    """

    name: str
    bootstrap: str = ""
    color: str | None = None
    environment: str = ""
    command_config: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """One of the clusters in the dialog in which the user chooses another cluster to open.

    Attributes:
        name: the configured name, which is passed to `Session.open_cluster`.
        bootstrap: addresses `host:port`, separated by commas.
        color: background color in Textual's notation, such as `red`; None for the default color of the theme.
        environment: a label such as `PROD`; empty if there is none.
        read_only: whether kgtui must not change this cluster.
    """

    name: str
    bootstrap: str = ""
    color: str | None = None
    environment: str = ""
    read_only: bool = False


@dataclass(slots=True)
class Session:
    """A cluster or recording that is open in the terminal UI, with its settings. Attributes that do not apply are None.

    Attributes:
        target: name, addresses and color of the cluster.
        monitor: object that polls the cluster; None while the start screen asks for a cluster.
        admin: client for actions that read or change the cluster, such as delete.
        filter: filter expression that is set when the session is opened.
        ui: the table `[ui]` of `config.toml`, with command-line options applied.
        keymap: action id → configured keys, separated by commas.
        presets: name → saved filter expression.
        state_folder: folder of backups, audit log, recordings, exports and crash reports.
        config_file: path of the configuration file, which does not have to exist.
        mouse: whether kgtui handles the mouse. If not, the terminal does, for example to select text.
        display: settings for symbols, text and times; None for the defaults.
        open_address: function that opens a session on a bootstrap address. Raises `KgtuiError` if no broker answers.
        open_demo: function that starts the demo cluster and opens a session on it.
        failed_attempts: (address, reason) of each address that did not answer when kgtui started.
        open_cluster: function that opens a configured cluster by name. Raises `KgtuiError` if its configuration is
            invalid.
        close: function that closes the connections after the app has switched to another session.
        replay_position: the displayed time in the open recording; None on a live cluster.
        lake: folder of the open recording; None on a live cluster.
        open_recording: function that opens a recording. Its arguments are a folder and a time that the user has typed.
            Raises `KgtuiError` if the folder or the time is invalid.
        live_session: the session of the live cluster from which this recording was opened.
        warnings: sentences about the configuration that the user should read.
        monitor_task: the task of `monitor.run()`, if it was started before the app.
        recording: the recording of this cluster that kgtui is writing now.
    """

    target: ClusterLabel
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
    """How one screen shows recordings: playing speed, remembered time, and last opened recording.

    Attributes:
        speed: playing speed, as a multiple of real time.
        worker: the Textual worker that plays the recording; None while the recording is not playing.
        remembered: time saved with key `m` for a comparison, in seconds since the epoch.
        last_opened: the recording that was opened last. When the user opens a recording again, the dialog proposes the
            folder of this recording, and the time that was displayed last.
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
