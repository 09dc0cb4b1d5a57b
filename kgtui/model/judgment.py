"""The judgment on a group, for all screens and commands: whether it has a problem, and since when.

`Snapshot.judgment` combines three sources:

- A group that kgtui reads at every poll has a health verdict by Burrow's rules (`kgtui.model.health`).
- All groups are also screened: `kgtui.monitor.screening` applies simple rules to the background reads of all groups.
  The rules detect every problem, but sometimes suspect a healthy group.
- If no read of a group has succeeded yet, kgtui knows only the state from the list of groups, and whether a read has
  failed. The status of such a group is never OK.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import EMPTY, REBALANCING
from kgtui.model.problem import ABANDONED_TIME, ONLY_COUNTED, PROBLEM_TEXTS, SEVERITY, GroupStatus, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.answer import Fault
    from kgtui.model.summary import Summary


class Basis(Enum):
    """How kgtui has read a group that it judges: not yet, once, several times in the background, or at every poll."""

    NOT_READ = "not read yet"
    READ_ONCE = "read once"
    """One read, which is not enough to know whether the group makes progress."""
    NO_PROGRESS_YET = "no progress seen yet"
    """A few reads, all with the same position in a partition with unread records. The group may have stopped."""
    SCREENED = "screened"
    """At least two background reads, which are judged by simple rules (`kgtui.monitor.screening`)."""
    OBSERVED = "observed"
    """Reads at every poll interval, which are judged by Burrow's rules."""


BEFORE_START = "before kgtui started"

_EMPTY_FOR_LONG = f"Empty for at least {ABANDONED_TIME}"


class NoMembers(NamedTuple):
    """The values from which `Judgment.reason` is made for a group that has unread records and no members.

    Attributes:
        since: first words of the reason, such as `all members left` or `Empty since {before}`. `{before}` is a
            placeholder for a text such as `before kgtui started`.
        unread: number of unread records.
        unused: whether the group is probably abandoned (`Problem.UNUSED`).
    """

    since: str
    unread: int
    unused: bool = False

    def reason(self, since: str) -> str:
        """Return a text such as `all members left, 7 unread`.

        Args:
            since: first words of the returned text. They are the attribute `since` with a text in place of `{before}`,
                or other words for a simple group, which never has members.
        """
        unused = f"records unread for more than {ABANDONED_TIME}" if self.unused else ""
        return ", ".join(filter(None, (since, unused, f"{self.unread:,} unread")))


@dataclass(frozen=True, slots=True)
class Judgment:
    """The judgment on a group.

    Attributes:
        kind: the most severe problem of the group; None if no problem is known.
        basis: how often kgtui has read the group, such as once or at every poll.
        observed: seconds for which kgtui has read the group at every poll; 0 unless the basis is `OBSERVED`.
        since: start of the problem in epoch seconds; None if unknown. If `since_seen` is False, the problem may have
            begun before this time.
        since_seen: whether kgtui observed the start of the problem.
        after: a time at which the problem had not begun yet, in epoch seconds; None if unknown.
        message: the reason of the judgment; empty if there is none, or if it is made from `no_members`.
        others: further problems of the group, the most severe first.
        no_members: the values from which `reason` is made, if the problem is that the group has no members; otherwise
            None.
    """

    status: GroupStatus
    kind: Problem | None = None
    basis: Basis = Basis.NOT_READ
    observed: float = 0.0
    since: float | None = None
    since_seen: bool = False
    message: str = ""
    others: tuple[Problem, ...] = ()
    after: float | None = None
    no_members: NoMembers | None = None

    @property
    def reason(self) -> str:
        """What is wrong, in one short sentence without a time; may be empty.

        For a group without members, the sentence is made when it is needed, because a cluster can have very many such
        groups, and their sentences would need several megabytes.
        """
        if self.message or self.no_members is None:
            return self.message
        return self.no_members.reason(self.no_members.since.format(before=BEFORE_START))

    @property
    def harm(self) -> int:
        """How severe the problem is, as a number for sorting. A larger number is worse; 0 if no problem is known."""
        return 0 if self.kind is None else self.kind.harm

    @property
    def severity(self) -> int:
        """How serious the status is: 4 for ERR, 3 for WARN, 2 for UNKNOWN, 1 for ABANDONED; 0 without a problem.

        An unused group counts like an abandoned one.
        """
        if self.kind is None:
            return 0
        return SEVERITY.get(GroupStatus.ABANDONED if self.kind in ONLY_COUNTED else self.status, 0)

    @property
    def problem_name(self) -> str | None:
        """Name of the problem, as in `PROBLEM_NAMES`; None if no problem is known."""
        return None if self.kind is None else PROBLEM_TEXTS[self.kind].name

    @property
    def basis_text(self) -> str:
        """How kgtui has read the group (see `Basis`), such as `not read yet`, `screened` or `observed 3 min`."""
        if self.basis is not Basis.OBSERVED:
            return str(self.basis.value)
        from kgtui.model.health.wording import duration

        return "observed " + duration(self.observed)

    def since_text(self, clock: Callable[[float], str]) -> str:
        """Return when the problem began, as text; empty if unknown.

        - `since 00:53`: kgtui observed the start.
        - `since before 00:53`, `since after 00:20`: only the latest or the earliest possible start is known.
        - `between 00:20 and 00:53`: the earliest and the latest possible start are known.

        Args:
            clock: converts epoch seconds to text.
        """
        if self.since is None:
            return "" if self.after is None else f"since after {clock(self.after)}"
        if self.since_seen or (self.after is not None and clock(self.after) == clock(self.since)):
            return f"since {clock(self.since)}"
        if self.after is not None:
            return f"between {clock(self.after)} and {clock(self.since)}"
        return f"since before {clock(self.since)}"


class FoundProblem(NamedTuple):
    """The time at which kgtui found a problem. kgtui uses this time if it does not know when the problem began.

    Attributes:
        at: time of the first judgment with the problem, in epoch seconds.
        seen: whether the problem began at about the time `at`. This is so if kgtui was already reading the group at
            every poll before this time. Otherwise, the problem may have begun earlier.
    """

    kind: Problem
    at: float
    seen: bool


NOT_FOUND = Judgment(GroupStatus.NOT_FOUND, message="the group no longer exists")
NOT_READ = Judgment(GroupStatus.UNKNOWN)
READ_ONCE = Judgment(GroupStatus.UNKNOWN, basis=Basis.READ_ONCE)
"""The judgment on a group that is not Empty, was read only once, and has unread records or is in a rebalance.

The status is UNKNOWN, because one read cannot show whether the group makes progress.
"""
NO_PROGRESS_YET = Judgment(GroupStatus.UNKNOWN, basis=Basis.NO_PROGRESS_YET)
"""The judgment on a group whose reads do not show yet whether it still reads all partitions with unread records."""
SCREENED_OK = Judgment(GroupStatus.OK, basis=Basis.SCREENED)
READ_OK = Judgment(GroupStatus.OK, basis=Basis.READ_ONCE)
"""The judgment on a group that was read only once, has no unread records, and is not in a rebalance."""
LAG_UNKNOWN = Judgment(GroupStatus.UNKNOWN, basis=Basis.READ_ONCE, message="the lag could not be read")
"""The judgment on a group if the lag of some partitions is unknown, and no known lag is above 0.

kgtui cannot tell whether the group has unread records.
"""


def unreadable(fault: Fault, judgment: Judgment, read_at: float | None = None) -> Judgment:
    """Return the judgment on a group whose newest read failed.

    Args:
        judgment: the judgment after the last successful read. If it contains a problem that is more severe than
            `Problem.UNREADABLE`, it is returned unchanged.
        read_at: time of the last successful read in epoch seconds; None if there was none.
    """
    if judgment.harm > Problem.UNREADABLE.harm:
        return judgment
    return replace(
        judgment,
        status=GroupStatus.UNKNOWN,
        kind=Problem.UNREADABLE,
        since=None,
        since_seen=False,
        after=read_at,
        message=fault.message.partition("\n")[0],
        no_members=None,
        others=() if judgment.kind is None else (judgment.kind, *judgment.others),
    )


def judgment_of_summary(
    summary: Summary | None, state: str | None, since: float | None, *, appeared: bool = False
) -> Judgment:
    """Return the judgment on a group for which screening (`kgtui.monitor.screening`) has stored no judgment.

    Screening stores no judgment if it has found no problem in the group, or has not checked the group yet.

    Args:
        summary: the values that background reads have stored about the group; None if the group was not read yet.
        state: newest known state of the group, or None.
        since: observed start of this state in epoch seconds, or None.
        appeared: whether the group was created in this state while kgtui was running.
    """
    if summary is None or (summary.lag_at is None and not summary.screened):
        return NOT_READ
    if summary.is_lag_unknown:
        return LAG_UNKNOWN
    if summary.screened:
        return SCREENED_OK
    if state != EMPTY and (summary.lag or state in REBALANCING):
        from kgtui.model.encoded_trail import number_of_reads

        return READ_ONCE if number_of_reads(summary.trail) < 2 else NO_PROGRESS_YET
    if not summary.lag:
        return READ_OK
    return judgment_of_empty(summary.lag, since, Basis.READ_ONCE, appeared=appeared)


def judgment_of_empty(lag: int, since: float | None, basis: Basis, *, appeared: bool = False) -> Judgment:
    """Return the judgment on an Empty group that has unread records and is not abandoned.

    The problem is `STOP` if kgtui observed that all members left. Otherwise, it is `EMPTY`.

    Args:
        lag: number of unread records.
        since: when the group became Empty or was created Empty, in epoch seconds; None if it was already Empty when
            kgtui started.
        appeared: whether the group was created Empty while kgtui was running.
    """
    if since is None or appeared:
        began = "Empty since {before}" if since is None else "Empty since it appeared"
        return Judgment(GroupStatus.WARN, Problem.EMPTY, basis, no_members=NoMembers(began, lag))
    facts = NoMembers("all members left", lag)
    return Judgment(GroupStatus.ERR, Problem.STOP, basis, since=since, since_seen=True, no_members=facts)


def judgment_of_unused(lag: int, basis: Basis) -> Judgment:
    """Return the judgment on an unused group, which is probably abandoned (`Problem.UNUSED`).

    Args:
        lag: number of unread records.
        basis: how often kgtui has read the group, such as once or at every poll.
    """
    facts = NoMembers("Empty since {before}", lag, unused=True)
    return Judgment(GroupStatus.WARN, Problem.UNUSED, basis, no_members=facts)


def judgment_of_abandoned(lag: int, since: float | None, basis: Basis) -> Judgment:
    """Return the judgment on a group that has been Empty for at least `ABANDONED_AFTER` seconds.

    Args:
        lag: number of unread records.
        since: when the group became Empty, in epoch seconds; None if kgtui did not observe this.
    """
    return Judgment(
        GroupStatus.ABANDONED,
        Problem.ABANDONED,
        basis,
        since=since,
        since_seen=since is not None,
        no_members=NoMembers(_EMPTY_FOR_LONG, lag),
    )
