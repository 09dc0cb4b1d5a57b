"""The header: the cluster, its connection state, brokers and groups, and the time of the last poll."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.style import Style

from kgtui.model.group_types import REBALANCING
from kgtui.model.marks import ERROR, PROBLEM_LOOKS
from kgtui.model.number_format import counted
from kgtui.model.problem import Problem
from kgtui.tui import text
from kgtui.tui.themes import parse_color
from kgtui.tui.widgets.broker_faults import NO_ANSWER_FAULTS
from kgtui.tui.widgets.line import LineWidget, Piece, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from textual.app import ComposeResult

    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import ClusterLabel, GroupMonitor, ReplayPosition


_WIDEST = ("", "in 999 ms", "· lag read: 100%")
"""The longest text of each of the three parts of the poll status. The header reserves space for these texts.

The first text, for the time of the poll, is empty here, because all times have the same length.
"""

_MIN_NARROWING = 9
"""Minimum number of terminal cells by which the widget `PollStatus` becomes narrower.

Each change of the widget's width causes a new layout of the screen. Because of this minimum, the width changes only if
a part of the poll status disappears, and not if a text becomes slightly shorter.
"""


class PollStatus(LineWidget):
    """The poll status: time and duration of the last poll, and the percentage of groups whose lag has been read.

    It is a separate widget, so that a new time does not redraw the rest of the header.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"header--plain", "header--quiet"}
    DEFAULT_CSS = """
    PollStatus { dock: right; width: 0; background: $panel; & > .header--quiet { color: $kg-muted; } }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[Piece] = []
        self._reserved = 0

    def show(self, right: list[Piece]) -> int:
        """Show the pieces of text in `right`, and return the resulting width of this widget in terminal cells.

        The widget becomes narrower by at least `_MIN_NARROWING` cells or not at all, because each change of the width
        causes a new layout of the screen.
        """
        self._shown = _with_blanks(right)
        needed = _reserved_width(right) + 1 if right else 0
        if needed > self._reserved or needed <= self._reserved - _MIN_NARROWING:
            self.styles.width = self._reserved = needed
        self.redraw()
        return self._reserved

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the pieces of text, with blanks before the first one, so that the text is right-aligned."""
        if not self._shown:
            return []
        (first, role), *others = self._shown
        blank = width - sum(cell_len(piece) for piece, _ in self._shown) - 1
        # Put the blanks into the first piece, because a separate piece would add bytes to the terminal output.
        return [(" " * blank + first, role), *others, (" ", "")]


class ClusterHeader(LineWidget):
    """The header line about the cluster, with `PollStatus` at its right end."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "header--name", "header--live", "header--warn", "header--error", "header--plain", "header--quiet",
    }  # fmt: skip
    """
    | Class | Description |
    | :- | :- |
    | `header--name` | Name and environment of the cluster. A configured cluster color replaces the background. |
    | `header--live` | The connection state LIVE. |
    | `header--warn` | PAUSED, REPLAY or CONNECTING; hidden topics; problems; brokers that do not respond. |
    | `header--error` | NO ANSWER or REFUSED; severe problems. |
    | `header--plain` | Numbers and times. |
    | `header--quiet` | Less important text, which is left out first on a narrow screen. |
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
        target: ClusterLabel,
        monitor: GroupMonitor,
        *,
        read_only: bool = False,
        replay_position: ReplayPosition | None = None,
        recording_mark: Callable[[], Piece | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._target = target
        self._color = parse_color(target.color)
        self._monitor = monitor
        self._read_only = read_only
        self._replay_position = replay_position
        self._recording_mark = recording_mark
        self._snapshot = monitor.snapshot
        self._matching: int | None = None
        self._marked = 0
        self._problems: list[ProblemCount] = []
        self._polled = ""
        self._poll_ms: float | None = None

    def compose(self) -> ComposeResult:
        yield PollStatus()

    def style_of(self, role: str) -> Style:
        """Return the style for a component class.

        If a color is configured for the cluster, this color is the background of `header--name`, instead of the color
        of the theme.
        """
        if role == "header--name" and self._color is not None:
            foreground = self._color.get_contrast_text(1.0)
            return Style(color=foreground.rich_color, bgcolor=self._color.rich_color, bold=True)
        return super().style_of(role)

    def show(
        self,
        snapshot: Snapshot,
        *,
        problems: Mapping[Problem, int] = MappingProxyType({}),
        matching: int | None = None,
        marked: int = 0,
    ) -> None:
        """Show a newer snapshot.

        Args:
            problems: problem → number of groups with this problem.
            matching: number of groups that match the filter; None if no filter is set.
        """
        self._snapshot, self._matching, self._marked = snapshot, matching, marked
        self._problems = problem_counts(problems, rebalancing=groups_in_rebalance(snapshot))
        self.redraw()

    def pieces(self, width: int) -> Sequence[Piece]:
        """Return the left part of the header, and update the poll status (time of the last poll) in the right part.

        If the line is too narrow, first shorten or leave out the poll status, then leave out the numbers of brokers and
        groups, and then problems, beginning with the least severe ones. For a recording, the displayed time is shown
        instead of the poll status. It can be shortened to the time of day, but is never left out.
        """
        is_replay = self._replay_position is not None
        left, right = self._left([problem.piece for problem in self._problems]), self._right()
        while right and _width(left) + _reserved_width(right) + 2 > width:
            polled = right.pop()
            if not right and (is_replay or _width(left) + 12 < width):
                right = [(polled[0].split(" ")[1], "header--plain")]
                break
        room = width - (_width(right) + 2 if is_replay else 0)
        if self._problems and _text_width(left) > room:
            left = self._left(brief=True)
            left += _fitting(self._problems, room - _text_width(left))
        right_width = self.query_one(PollStatus).show(right)
        return spread(left, [], max(width - right_width, 0))

    def _left(self, problems: Sequence[Piece] = (), *, brief: bool = False) -> list[Piece]:
        """Return the left part of the header.

        Args:
            problems: the texts about problems, such as `✘ 1 stopped`.
            brief: whether to omit the numbers of brokers and groups. They are still shown if a broker does not respond.
        """
        snapshot, target = self._snapshot, self._target
        name = text.plain(target.name, 32, cut="middle")
        environment = f" {text.plain(target.environment, 12)}" if target.environment else ""
        left: list[Piece] = [(f" {name}{environment} ", "header--name"), (" ", ""), self._status()]
        recording_mark = self._recording_mark()
        if recording_mark is not None:
            left += [(" ", ""), recording_mark]
        figures: list[Piece] = []
        # A recording is always read-only, so the header shows `read-only` only for a live cluster.
        if self._read_only and self._replay_position is None:
            figures.append(("read-only", "header--plain"))
        all_answer = snapshot.answering == len(snapshot.brokers)
        if snapshot.brokers and not (brief and all_answer):
            groups = len(snapshot.groups)
            figures += [
                (f"brokers {snapshot.answering}/{len(snapshot.brokers)}",
                 "header--plain" if all_answer else "header--warn"),
                (counted(groups, "group"), "header--plain"),
            ]  # fmt: skip
        if snapshot.hides_topics:
            # Show `some topics hidden` even on a narrow screen. There, it is the only text that explains why the tree
            # shows lower bounds such as `≥ 120`.
            figures.append(("some topics hidden", "header--warn"))
        if self._matching is not None:
            figures.append((f"{text.exact(self._matching)} shown", "header--plain"))
        if self._marked:
            figures.append((f"{text.exact(self._marked)} marked", "header--plain"))
        return left + _after_dots([*figures, *problems])

    def _status(self) -> Piece:
        snapshot = self._snapshot
        if self._replay_position is not None:
            speed = self._replay_position.playing
            return ("REPLAY" if speed is None else f"REPLAY x{speed:,.0f}", "header--warn")
        if self._monitor.paused:
            return ("PAUSED", "header--warn")
        if snapshot.answering:
            return ("LIVE", "header--live")
        if any(s.fault is not None and s.fault.name not in NO_ANSWER_FAULTS for s in snapshot.brokers.values()):
            return ("REFUSED", "header--error")
        newest = newest_answer(snapshot)
        if newest is not None:
            return (f"NO ANSWER {text.ago(newest)}", "header--error")
        return ("NO ANSWER", "header--error") if snapshot.faults else ("CONNECTING", "header--warn")

    def _right(self) -> list[Piece]:
        snapshot = self._snapshot
        newest = newest_answer(snapshot)
        if self._replay_position is not None:
            return [(text.date(self._replay_position.at), "header--plain")]
        if newest is None:
            return []
        polled = f"polled {text.clock(newest, offset=True)}"
        right = [(polled, "header--plain")]
        if polled != self._polled or self._poll_ms is None:
            # Update the duration of the poll only together with the time of the poll (at most once per second), so that
            # fewer bytes are sent to the terminal.
            durations = (status.took_ms for status in snapshot.brokers.values() if status.took_ms is not None)
            self._polled, self._poll_ms = polled, max(durations, default=None)
        if self._poll_ms is not None:
            right.append((f"in {text.milliseconds(self._poll_ms)}", "header--quiet"))
        if snapshot.groups:
            percent = text.percent_of(snapshot.swept, len(snapshot.groups))
            right.append((f"{text.marks().dot} lag read: {percent}", "header--quiet"))
        return right


def groups_in_rebalance(snapshot: Snapshot) -> int:
    """Return the number of groups in a rebalancing state, including short rebalances, which are not a problem."""
    return sum(len(ids) for listing, ids in snapshot.by_listing.items() if listing.state in REBALANCING)


class ProblemCount(NamedTuple):
    """Number of groups with one kind of problem, and the text about them in the header, such as `✘ 1 stopped`."""

    groups: int
    piece: Piece


def problem_counts(problems: Mapping[Problem, int], *, rebalancing: int = 0) -> list[ProblemCount]:
    """Return a `ProblemCount` for each kind of problem that at least one group has, the most severe problem first.

    Args:
        problems: problem → number of groups with this problem.
        rebalancing: number of groups that are rebalancing, including groups whose rebalance is too short to be a
            problem.
    """
    marks = text.marks()
    counts = {**problems, Problem.REBALANCING: max(rebalancing, problems.get(Problem.REBALANCING, 0))}
    found: list[ProblemCount] = []
    for problem, count in sorted(counts.items(), key=lambda item: -item[0].harm):
        if not count:
            continue
        look = PROBLEM_LOOKS[problem]
        role = "header--error" if look.role == ERROR else "header--warn"
        if problem not in problems:
            role = "header--plain"
        piece = (f"{getattr(marks, look.mark)} {text.short(count)} {problem.value}", role)
        found.append(ProblemCount(count, piece))
    return found


def newest_answer(snapshot: Snapshot) -> float | None:
    """Return the time of the latest response of any broker, in seconds since the epoch; None if none has responded."""
    return max((s.answered_at for s in snapshot.brokers.values() if s.answered_at is not None), default=None)


def _after_dots(pieces: Iterable[Piece]) -> list[Piece]:
    return [one for piece in pieces for one in ((f" {text.marks().dot} ", "header--quiet"), piece)]


def _fitting(problems: Sequence[ProblemCount], width: int) -> list[Piece]:
    """Return the texts of the problems that fit into `width` cells, such as `✘ 2 stopped`.

    If not all texts fit, a text such as `5 more` says how many groups have a problem that is not
    shown. If even the first text and `5 more` do not fit together, return only the total number,
    such as `✘ 7 problems`.
    """
    for shown in range(len(problems), 0, -1):
        hidden = sum(problem.groups for problem in problems[shown:])
        more = [(f"{text.short(hidden)} more", "header--warn")] if hidden else []
        pieces = _after_dots([*(problem.piece for problem in problems[:shown]), *more])
        if _text_width(pieces) <= width:
            return pieces
    (worst, role), every = problems[0].piece, sum(problem.groups for problem in problems)
    return _after_dots([(f"{worst.split(' ')[0]} {text.short(every)} problem{'' if every == 1 else 's'}", role)])


def _with_blanks(right: list[Piece]) -> list[Piece]:
    return [(f" {piece}" if index else piece, role) for index, (piece, role) in enumerate(right)]


def _reserved_width(right: Sequence[Piece]) -> int:
    """Return the width to reserve for the poll status, in terminal cells.

    The width includes room for longer texts, because each change of the width causes a new layout of the screen.
    """
    spare = (max(0, cell_len(widest) - cell_len(piece)) for (piece, _), widest in zip(right, _WIDEST, strict=False))
    return _width(right) + sum(spare)


def _text_width(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(piece) for piece, _ in pieces)


def _width(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(piece) + 1 for piece, _ in pieces)
