"""What the app is given: one cluster, who watches it, who may act on it, and the user's settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.comparison import Comparison
    from kgtui.model.past import Past
    from kgtui.model.series import SeriesStore
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.recording import Recording
    from kgtui.tui.text import Look


class Watch(Protocol):
    """What the UI needs of a monitor (`kgtui.monitor.Monitor`)."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; an empty one at first."""
        ...

    @property
    def paused(self) -> bool: ...

    @property
    def interval(self) -> float:
        """Seconds between two polls of a broker."""
        ...

    @property
    def series(self) -> SeriesStore:
        """Samples of the groups that were looked at."""
        ...

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]: ...

    def look_at(self, selected: str | None, visible: Sequence[str] = ()) -> None: ...

    def want_configs(self, group: str | None) -> None: ...

    async def run(self) -> None: ...

    def refresh(self) -> None: ...

    def forget(self, groups: Iterable[str]) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def set_interval(self, seconds: float) -> None: ...


class Timeline(Protocol):
    """A recording, and the moment of it that the monitor's cluster shows. Each call raises `KgtuiError`.

    Attributes:
        playing: how many times as fast as it happened the recording plays; None when it stands still.
    """

    playing: float | None

    @property
    def at(self) -> float:
        """The moment shown, in seconds since the epoch."""
        ...

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last moment."""
        ...

    async def step(self, by: int) -> bool:
        """Go some moments on, or back; False where there is none."""
        ...

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Go to the next moment at which a group changed, or the one before; False where there is none."""
        ...

    async def go_to(self, words: str) -> None:
        """Go to the moment that a user means, such as `10:04` or `15m` before the end."""
        ...

    async def seek(self, at: float) -> None:
        """Go to the newest moment at or before a time, in seconds since the epoch."""
        ...

    async def advance(self, seconds: float) -> bool:
        """Go on by so much recorded time, over gaps at once; False at the end."""
        ...

    async def past(self, group: str, since: float, until: float) -> Past:
        """What happened to a group in an interval; seconds since the epoch."""
        ...

    async def compare(self, at: float) -> Comparison:
        """What differs between a time and the moment shown."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that the session is about.

    Attributes:
        name: the configured name, or the bootstrap addresses.
        bootstrap: `host:port`, comma separated.
        colour: a colour for the header, any that Textual knows; None for the theme's.
        environment: a label such as `PROD`, or empty.
        command_config: path of the properties file, for the equivalent Kafka command.
    """

    name: str
    bootstrap: str = ""
    colour: str | None = None
    environment: str = ""
    command_config: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """One cluster that can be opened.

    Attributes:
        name: what `Session.open` takes.
        bootstrap: `host:port`, comma separated.
        colour: as in `Target`.
        environment: a label such as `PROD`, or empty.
        read_only: nothing can be changed in it.
    """

    name: str
    bootstrap: str = ""
    colour: str | None = None
    environment: str = ""
    read_only: bool = False


@dataclass(slots=True)
class Session:
    """One run of the UI on one cluster.

    Attributes:
        monitor: None when there is no cluster: the start screen asks for one.
        admin: for what the user asks beyond watching, such as deleting.
        read_only: removes every write from keys and palette.
        filter: expression in force from the start.
        theme: name of the theme, or None for ours.
        keymap: action id → keys, comma separated.
        presets: name → filter expression.
        themes_folder: where the user's own themes lie.
        state_folder: where backups, the audit log and crash reports go.
        config_file: the configuration file, whether it exists or not.
        mouse: False leaves the mouse to the terminal.
        look: how times and marks are written; None to find out.
        connect: opens a session for an address typed on the start screen, or raises `KgtuiError`.
        demo: starts the demo cluster and opens a session for it, or None where there is none.
        tried: `(address, reason)` of what was tried before the start screen came up.
        clusters: what can be opened instead, by name; empty when none is configured.
        open: opens a session on one of `clusters`, whether it answers or not, or raises `KgtuiError`; None where there
            is no other cluster to go to.
        close: closes what the session holds of its cluster; the app calls it when another takes its place.
        timeline: where the cluster is a recording, the way through it; None where it is live.
        lake: where the cluster is a recording, its folder.
        replay: opens a session on a recording, by its folder and a time as a user writes it (`` for the end), or raises
            `KgtuiError`; None where there is nothing to open one with.
        beneath: where a recording was opened from a live screen, the session of that, which goes on meanwhile.
        warnings: what the user should know of how the cluster is configured, a sentence each.
        watching: the monitor's `run`, if it is under way already; it is the app's to end then.
        recording: the recording of the cluster that is under way; None when there is none.
    """

    target: Target
    monitor: Watch | None = None
    admin: GroupAdmin | None = None
    read_only: bool = False
    filter: str = ""
    theme: str | None = None
    keymap: Mapping[str, str] = field(default_factory=dict)
    presets: Mapping[str, str] = field(default_factory=dict)
    themes_folder: Path | None = None
    state_folder: Path = field(default_factory=lambda: Path.home() / ".local" / "state" / "kgtui")
    config_file: Path | None = None
    mouse: bool = True
    look: Look | None = None
    connect: Callable[[str], Awaitable[Session]] | None = None
    demo: Callable[[], Awaitable[Session]] | None = None
    tried: tuple[tuple[str, str], ...] = ()
    clusters: tuple[ClusterChoice, ...] = ()
    open: Callable[[str], Awaitable[Session]] | None = None
    close: Callable[[], Awaitable[None]] | None = None
    timeline: Timeline | None = None
    lake: Path | None = None
    replay: Callable[[str, str], Awaitable[Session]] | None = None
    beneath: Session | None = None
    warnings: tuple[str, ...] = ()
    watching: asyncio.Task[None] | None = None
    recording: Recording | None = None
