"""The problems that a group can have, the statuses of groups, and the texts and limits of the problems."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kgtui.model.group_types import CLASSIC, NOT_READY, UNSETTLED


class GroupStatus(Enum):
    """The status of a group. `NOT_FOUND`, `OK`, `WARN` and `ERR` are named after Burrow's statuses.

    In kgtui, a group can be `WARN` or `ERR` because of a problem that Burrow does not detect. For example, a group with
    `Problem.EMPTY` is `WARN`.
    """

    NOT_FOUND = "NOT_FOUND"
    """The group does not exist."""
    OK = "OK"
    WARN = "WARN"
    ERR = "ERR"
    ABANDONED = "ABANDONED"
    """The group has unread records, and kgtui has observed it as Empty for at least `ABANDONED_AFTER` seconds."""
    UNKNOWN = "UNKNOWN"
    """kgtui cannot judge the group.

    The group was not read yet, the newest read failed, the lag is unknown, or there are too few
    reads.
    """


class Problem(Enum):
    """The problems that a group can have, from the most to the least severe. The values are texts for the screen."""

    DATA_LOST = "data lost"
    """Retention has deleted records that the group has not read."""
    LOSS_NEAR = "data loss near"
    """Retention will soon delete records that the group has not read."""
    STOP = "stopped"
    """The group has unread records, and either it has stopped committing, or kgtui observed that all members left."""
    STALL = "stalled"
    """A share group with members and unread records has acknowledged no records for too long.

    A group of any other type gets `STOP` instead. In Burrow, STALL means that a group commits the same offset again and
    again, but kgtui cannot see such commits.
    """
    REWIND = "rewound"
    """The committed offset or share-partition start offset went back, and is still below its earlier value."""
    FLAPPING = "flapping"
    """The group rebalances again and again."""
    BEHIND = "falling behind"
    """The group makes progress, but its lag does not fall."""
    NO_PARTITIONS = "no partitions"
    """The group has members, but no partition is assigned to any of them."""
    REBALANCING = "rebalancing"
    """The group has been in a rebalance, or in the state NotReady, for so long that something probably blocks it."""
    UNREADABLE = "unreadable"
    """The newest read of the group failed, or the group's coordinator does not respond."""
    EMPTY = "empty"
    """There are unread records and no members, but kgtui did not observe that the last member left."""
    UNUSED = "unused"
    """The group is probably abandoned, but kgtui has not observed it long enough to be certain.

    The group has no members. In each partition with unread records, the oldest unread record is at least
    `ABANDONED_AFTER` seconds old.
    """
    ABANDONED = "abandoned"
    """There are unread records, and kgtui has observed the group as Empty for at least `ABANDONED_AFTER` seconds."""

    @property
    def harm(self) -> int:
        """How severe the problem is, as a number from 1 (the least severe) upwards."""
        return _HARM[self]


_HARM = {problem: len(Problem) - position for position, problem in enumerate(Problem)}

STATUS_NAMES: dict[str, GroupStatus] = {
    "ok": GroupStatus.OK,
    "warn": GroupStatus.WARN,
    "error": GroupStatus.ERR,
}
"""Maps the status names in filters to statuses, from the best status to the worst."""

_START_AGAIN = "Start the application again if the unread records must be processed."


class ProblemTexts(NamedTuple):
    """The texts about one problem.

    Attributes:
        name: name in filters and in command output.
        label: name in the tree of groups, at most nine characters.
        advice: what to do next; empty for `UNREADABLE`, where it depends on the error.
    """

    name: str
    label: str
    advice: str = ""


PROBLEM_TEXTS: dict[Problem, ProblemTexts] = {
    Problem.STOP: ProblemTexts(
        "stop", "stopped",
        "Read the log of the member: it may have hung, or its commits may fail. Restart it if it has hung.",
    ),
    Problem.STALL: ProblemTexts(
        "stall", "stalled",
        "Read the logs of the members: processing of the same records may fail again and again, so they stay unread.",
    ),
    Problem.REWIND: ProblemTexts(
        "rewind", "rewound", "Find out who reset the offset. The group reads the records after the new offset again."
    ),
    Problem.DATA_LOST: ProblemTexts(
        "lost", "data lost",
        "Make the consumers faster or raise the retention of the topic, so that no more records expire.",
    ),
    Problem.LOSS_NEAR: ProblemTexts(
        "expiring", "expiring",
        "Let the group read these records before they expire, or raise retention.ms of the topic.",
    ),
    Problem.FLAPPING: ProblemTexts(
        "flapping", "flapping",
        "Look in the History pane for members that come and go, and check max.poll.interval.ms.",
    ),
    Problem.BEHIND: ProblemTexts(
        "behind", "behind", "Make the consumers faster, or add members if there are more partitions than members."
    ),
    Problem.NO_PARTITIONS: ProblemTexts(
        "idle", "idle", "Check that the subscribed topics exist and have partitions."
    ),
    Problem.REBALANCING: ProblemTexts(
        "rebalancing", "rebalance",
        "Read the logs of the members. A busy member can delay a rebalance by up to max.poll.interval.ms.",
    ),
    Problem.UNREADABLE: ProblemTexts("unreadable", "not read"),
    Problem.EMPTY: ProblemTexts("empty", "empty", _START_AGAIN),
    Problem.UNUSED: ProblemTexts("unused", "unused", _START_AGAIN),
    Problem.ABANDONED: ProblemTexts("abandoned", "abandoned", _START_AGAIN),
}  # fmt: skip
"""Maps each problem to the texts about it. Help and error messages list the problem names in this order."""

PROBLEM_NAMES = {texts.name: problem for problem, texts in PROBLEM_TEXTS.items()}
"""Maps the problem names in filters and in command output to problems."""

ABANDONED_AFTER = 86_400.0
"""A group with unread records is abandoned after kgtui has observed it as Empty for this many seconds.

If kgtui has observed the group for a shorter time, the group may be unused (`Problem.UNUSED`): in each partition with
unread records, the oldest unread record is at least this many seconds old.
"""

UNSETTLED_CLASSIC = 15.0
"""A classic group gets the status WARN if a rebalance takes longer than this number of seconds."""

UNSETTLED_OTHER = 60.0
"""A group that is not classic gets WARN if it rebalances, or is NotReady, for longer than this number of seconds.

The limit is longer than for classic groups, because a rebalance of such a group interrupts reading from only some of
its partitions.
"""


def unsettled_limit(state: str | None, group_type: str | None) -> float | None:
    """Return after how many seconds in a state a group has a problem; None if the state alone is never a problem.

    Args:
        group_type: type of the group. None (unknown) counts as classic.
    """
    if state not in UNSETTLED:
        return None
    return UNSETTLED_CLASSIC if group_type in (CLASSIC, None) else UNSETTLED_OTHER


def unsettled_reason(state: str | None) -> str:
    """Return a text that says why a group in this state has `Problem.REBALANCING`.

    The reason is either that a rebalance does not end, or that a streams group stays NotReady.
    """
    if state == NOT_READY:
        return f"{state} for too long; perhaps a source topic or an internal topic does not exist"
    return f"{state} for too long; perhaps a member has not rejoined"


ABANDONED_TIME = f"{ABANDONED_AFTER / 3_600:g} h"
"""`ABANDONED_AFTER` as it is shown to users, such as `24 h`."""

SUSPECTED = frozenset({Problem.STOP, Problem.STALL, Problem.BEHIND})
"""Problems that kgtui can suspect, but not prove, from the background reads of a group.

If kgtui suspects such a problem, it reads the group at every poll until there is a health verdict on the group.
"""

ONLY_COUNTED = frozenset({Problem.UNUSED, Problem.ABANDONED})
"""Problems for which the list *Needs attention* in the terminal UI shows only the number of affected groups.

The groups themselves are not shown, because there can be thousands of them.
"""

SEVERITY = {GroupStatus.ABANDONED: 1, GroupStatus.UNKNOWN: 2, GroupStatus.WARN: 3, GroupStatus.ERR: 4}
"""Maps each status that a group with a problem can have to the severity of the status. A larger number is worse."""
