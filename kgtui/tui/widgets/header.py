"""The header: which cluster, whether it is live, how much of it answers, and how old what is shown is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.color import Color, ColorParseError

from kgtui.tui import text
from kgtui.tui.widgets.broker_faults import SILENCE
from kgtui.tui.widgets.line import LineWidget, Piece, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import GroupMonitor, ReplayPosition, Target


_MOST = ("", "in 999 ms", "· lag read: 100%")
"""How long the pieces of the right end become as a rule."""


class Polled(LineWidget):
    """The right end of the header. On its own, so that its clock does not write out the whole line again."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"header--plain", "header--quiet"}
    DEFAULT_CSS = """
    Polled { dock: right; width: 0; background: $panel; & > .header--quiet { color: $kg-muted; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._said: list[Piece] = []
        self._widest: dict[int, int] = {}

    def say(self, right: list[Piece]) -> int:
        """Show these pieces; how many cells they take, which only grows: a width that changes lays out the screen."""
        self._said = _joined(right)
        needed = _room(right) + 1 if right else 0
        width = self._widest[len(right)] = max(needed, self._widest.get(len(right), 0))
        if self.styles.width is None or self.styles.width.value != width:
            self.styles.width = width
        self.redraw()
        return width

    def pieces(self, width: int) -> Sequence[Piece]:
        """Flush right."""
        if not self._said:
            return []
        (words, role), *others = self._said
        blank = width - sum(cell_len(said) for said, _ in self._said) - 1
        # One piece with the blanks before it: each piece costs its colours on the way to the terminal.
        return [(" " * blank + words, role), *others, (" ", "")]


class ClusterHeader(LineWidget):
    """One line: cluster, LIVE or PAUSED, brokers, groups, shown; when polled, in how long, how much was swept."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "header--name", "header--live", "header--warn", "header--error", "header--plain", "header--quiet",
    }  # fmt: skip
    """
    | Class | Description |
    | :- | :- |
    | `header--name` | Name and environment of the cluster; a configured colour replaces its background. |
    | `header--live`, `--warn`, `--error` | LIVE; PAUSED or partial; nothing answers. |
    | `header--plain`, `--quiet` | Figures; what gives way first. |
    """

    DEFAULT_CSS = """
    ClusterHeader {
        background: $panel;
        & > .header--name { background: $primary; color: $kg-on-primary; text-style: bold; }
        & > .header--live { color: $kg-ok; text-style: bold; }
        & > .header--warn { color: $kg-warn; text-style: bold; }
        & > .header--error { color: $kg-error; text-style: bold; }
        & > .header--quiet { color: $kg-muted; }
    }
    """

    def __init__(
        self,
        target: Target,
        watch: GroupMonitor,
        *,
        read_only: bool = False,
        timeline: ReplayPosition | None = None,
        extra: Callable[[], Piece | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._target = target
        self._colour = colour_of(target.color)
        self._watch = watch
        self._read_only = read_only
        self._timeline = timeline
        self._extra = extra
        self._snapshot = watch.snapshot
        self._shown: int | None = None
        self._marked = 0
        self._polled = ""
        self._took: float | None = None

    def compose(self) -> ComposeResult:
        """The right end."""
        yield Polled()

    def style_of(self, role: str) -> Style:
        """The cluster's configured colour goes before the theme's."""
        if role == "header--name" and self._colour is not None:
            ink = self._colour.get_contrast_text(1.0)
            return Style(color=ink.rich_color, bgcolor=self._colour.rich_color, bold=True)
        return super().style_of(role)

    def show(self, snapshot: Snapshot, *, shown: int | None = None, marked: int = 0) -> None:
        """Show the figures of this snapshot. `shown`: how many groups pass the filter, None without one."""
        self._snapshot, self._shown, self._marked = snapshot, shown, marked
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """The left, and room for the right, whose quiet pieces give way on a narrow screen."""
        left, right = self._left(), self._right()
        while right and _cells(left) + _room(right) + 2 > width:
            polled = right.pop()
            if not right and _cells(left) + 12 < width:
                right = [(polled[0].split(" ")[1], "header--plain")]
                break
        while len(left) > 3 and _cells(left) > width and left[-1][1] == "header--quiet":
            left.pop()
        taken = self.query_one(Polled).say(right)
        return spread(left, [], max(width - taken, 0))

    def _left(self) -> list[Piece]:
        snapshot, target = self._snapshot, self._target
        dot = text.marks().dot
        name = text.plain(target.name, 32, cut="middle")
        environment = f" {text.plain(target.environment, 12)}" if target.environment else ""
        left: list[Piece] = [(f" {name}{environment} ", "header--name"), (" ", "")]
        left.append(self._status())
        extra = self._extra()
        if extra is not None:
            left += [(" ", ""), extra]
        if self._read_only and self._timeline is None:  # nobody expects to change the past
            left += [(f" {dot} ", "header--quiet"), ("read-only", "header--plain")]
        if snapshot.brokers:
            all_answer = snapshot.answering == len(snapshot.brokers)
            left += [
                (f" {dot} ", "header--quiet"),
                (
                    f"brokers {snapshot.answering}/{len(snapshot.brokers)}",
                    "header--plain" if all_answer else "header--warn",
                ),
                (f" {dot} ", "header--quiet"),
                (
                    f"{text.exact(len(snapshot.groups))} group{'' if len(snapshot.groups) == 1 else 's'}",
                    "header--plain",
                ),
            ]
        if self._shown is not None:
            left += [(f" {dot} ", "header--quiet"), (f"{text.exact(self._shown)} shown", "header--plain")]
        if self._marked:
            left += [(f" {dot} ", "header--quiet"), (f"{text.exact(self._marked)} marked", "header--plain")]
        return left

    def _status(self) -> Piece:
        snapshot = self._snapshot
        if self._timeline is not None:
            playing = self._timeline.playing
            return ("REPLAY" if playing is None else f"REPLAY x{playing:,.0f}", "header--warn")
        if self._watch.paused:
            return ("PAUSED", "header--warn")
        newest = newest_answer(snapshot)
        if snapshot.answering:
            return ("LIVE", "header--live")
        if any(s.fault is not None and s.fault.name not in SILENCE for s in snapshot.brokers.values()):
            return ("REFUSED", "header--error")
        if newest is not None:
            return (f"NO ANSWER {text.ago(newest)}", "header--error")
        return ("NO ANSWER", "header--error") if snapshot.faults else ("CONNECTING", "header--warn")

    def _right(self) -> list[Piece]:
        """From the most to the least important."""
        snapshot = self._snapshot
        newest = newest_answer(snapshot)
        if self._timeline is not None:
            return [(text.date(self._timeline.at), "header--plain")]
        if newest is None:
            return []
        polled = f"polled {text.clock(newest, offset=True)}"
        right = [(polled, "header--plain")]
        if polled != self._polled or self._took is None:  # not with the answer of each broker: a slow line pays for it
            took = (status.took_ms for status in snapshot.brokers.values() if status.took_ms is not None)
            self._polled, self._took = polled, max(took, default=None)
        if self._took is not None:
            right.append((f"in {text.milliseconds(self._took)}", "header--quiet"))
        if snapshot.groups:
            share = text.percent_of(snapshot.swept, len(snapshot.groups))
            right.append((f"{text.marks().dot} lag read: {share}", "header--quiet"))
        return right


def newest_answer(snapshot: Snapshot) -> float | None:
    """When a broker last answered, in seconds since the epoch."""
    return max((s.answered_at for s in snapshot.brokers.values() if s.answered_at is not None), default=None)


def colour_of(name: str | None) -> Color | None:
    """A configured colour; None for one that Textual does not know."""
    try:
        return Color.parse(name) if name else None
    except ColorParseError:
        return None


def _joined(right: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for words, role in right:
        joined.append((f" {words}" if joined else words, role))
    return joined


def _room(right: Sequence[Piece]) -> int:
    """Cells for the right end, also when its figures grow as they will."""
    spare = (max(0, cell_len(most) - cell_len(words)) for (words, _), most in zip(right, _MOST, strict=False))
    return _cells(right) + sum(spare)


def _cells(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(words) + 1 for words, _ in pieces)
