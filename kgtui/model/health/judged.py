"""Computes the judgment on a group that kgtui reads at every poll.

The judgment says whether the group has a problem, and since when. It combines the health verdict (`OK`, `WARN` or
`ERR`) with the result of screening, the quick background check of all groups (`kgtui.monitor.screening`).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from kgtui.model.burrow import Status
from kgtui.model.group_types import EMPTY
from kgtui.model.health.values import Lack
from kgtui.model.health.wording import duration, loss_when, lost_records, missing, reason
from kgtui.model.judgment import NOT_FOUND, NOT_READ, Basis, Judgment
from kgtui.model.problem import SUSPECTED, GroupStatus, Problem, unsettled_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kgtui.model.health.values import GroupHealth, Undecided

_PROBLEMS = {
    Status.WARN: Problem.BEHIND,
    Status.STOP: Problem.STOP,
    Status.STALL: Problem.STALL,
    Status.REWIND: Problem.REWIND,
}

_BEGIN_UNKNOWN = frozenset({Problem.STOP, Problem.STALL, Problem.EMPTY, Problem.UNUSED})
"""Problems that may have begun before kgtui started.

If kgtui did not observe the start of such a problem, it reports the earliest possible start (`Judgment.after`). This is
the time at which the group's last consumed record was written.
"""

_FIRST_READ = 5.0
"""Maximum number of seconds between kgtui's first read of a group and kgtui's first read of the group's offsets."""


def verdict_or_worse(health: GroupHealth) -> Judgment:
    """Return the judgment on a group that `kgtui check` reports.

    Normally, this is the health verdict on the group; but if the group has a problem that is worse than its verdict, it
    is the judgment that `worse_problem` returns.
    """
    kind = None if health.worst is None else _PROBLEMS.get(health.kind)
    verdict = Judgment(GroupStatus[health.status.name], kind, Basis.OBSERVED, health.seconds)
    return worse_problem(health) or verdict


def worse_problem(health: GroupHealth) -> Judgment | None:
    """Return a judgment (WARN or ERR) if a group has a problem that is worse than its health verdict; otherwise None.

    Such a problem is possible, because Burrow's rules for the verdict consider neither lost records nor rebalances.
    """
    if health.status >= Status.ERR or not health.reads:
        return None
    judgment = judgment_of_health(health, NOT_READ, state=health.state, group_type=None)
    worse = judgment.kind is not None and Status[judgment.status.name] > health.status
    return judgment if worse else None


def is_final(health: GroupHealth) -> bool:
    """Return whether the health verdict on a group is final.

    The verdict is not final if a longer observation, or more observed commits, might make it worse.
    """
    return _pending(health) is None


def _pending(health: GroupHealth) -> Undecided | None:
    return next((one for one in health.undecided if one.lack in (Lack.TIME, Lack.COMMITS)), None)


def judgment_of_health(
    health: GroupHealth, screened: Judgment, *, state: str | None, group_type: str | None
) -> Judgment:
    """Return the judgment on a group that kgtui observes at every poll.

    Screening (the quick background check of all groups) may have found a problem. The result usually keeps this problem
    until the health shows a more severe one. If screening can only suspect the problem (`SUSPECTED`), and the group is
    not Empty, the problem is also dropped when a final health verdict refutes it.

    Args:
        health: the newest health of the group.
        screened: the judgment by screening.
        state: newest known state of the group, or None.
        group_type: type of the group; None if unknown.
    """
    if health.status is Status.NOT_FOUND:
        return NOT_FOUND
    if screened.kind is Problem.ABANDONED and state == EMPTY:
        return screened
    found = screened
    if screened.kind is not Problem.UNUSED or state != EMPTY:
        found = _combined(health, screened, state, group_type)
    if found.kind in _BEGIN_UNKNOWN and not found.since_seen:
        return replace(found, after=health.stopped_after)
    return found


def _combined(health: GroupHealth, screened: Judgment, state: str | None, group_type: str | None) -> Judgment:
    exact = _exact(health, group_type)
    pending = _pending(health)
    if screened.kind is None:
        if exact.kind is not None or pending is None:
            return exact
        if screened.status is GroupStatus.OK:
            return screened
        return replace(exact, status=GroupStatus.UNKNOWN, message=missing(pending))
    members_left = state == EMPTY
    if members_left and screened.kind is Problem.STOP and screened.since_seen and exact.kind is Problem.STOP:
        # The group stopped because all members left. Only screening (the background check of all groups) knows when
        # they left, so the judgment by screening is used.
        further = _by_harm(chain(exact.others, screened.others), screened.kind)
        return replace(screened, basis=exact.basis, observed=exact.observed, others=further)
    if screened.kind is exact.kind:
        return _with_earlier_begin(exact, screened)
    if screened.kind is Problem.EMPTY and members_left and exact.kind in SUSPECTED:
        return screened
    still_behind = screened.kind is Problem.BEHIND and health.lag_grows
    refuted = screened.kind in SUSPECTED and pending is None and not members_left and not still_behind
    if exact.harm > screened.harm or refuted:
        return exact
    others = (screened.others, exact.others, (exact.kind,) if exact.kind is not None else ())
    return replace(screened, others=_by_harm(chain(*others), screened.kind))


def _exact(health: GroupHealth, group_type: str | None) -> Judgment:
    found = sorted(_problems_of(health, group_type), key=lambda one: -one.harm)
    if not found:
        return Judgment(GroupStatus.OK, None, Basis.OBSERVED, health.seconds)
    kinds = (one.kind for one in found if one.kind is not None)
    return replace(found[0], others=_by_harm(kinds, found[0].kind))


def _with_earlier_begin(exact: Judgment, screened: Judgment) -> Judgment:
    """Return a copy of `exact` with the more reliable start time (`since`) of two judgments on the same group.

    Normally, this is the start time of `screened`. But the copy keeps the start time of `exact` if `screened` has none,
    or if kgtui observed the start of the problem in `exact` (`since_seen`), and this start is not later than that of
    `screened`. The copy contains the further problems (`others`) of both judgments.

    Args:
        exact: judgment that was computed from the health of the group.
        screened: judgment by screening, with the same problem.
    """
    others = _by_harm(chain(exact.others, screened.others), exact.kind)
    if screened.since is None or (exact.since is not None and exact.since_seen and exact.since <= screened.since):
        return replace(exact, others=others)
    return replace(exact, since=screened.since, since_seen=screened.since_seen, others=others)


def _by_harm(kinds: Iterable[Problem], but: Problem | None) -> tuple[Problem, ...]:
    return tuple(sorted({*kinds} - {but}, key=lambda kind: -kind.harm))


def _problems_of(health: GroupHealth, group_type: str | None) -> Iterator[Judgment]:
    def judged(
        status: GroupStatus, kind: Problem, why: str, since: float | None = None, seen: bool = False
    ) -> Judgment:
        return Judgment(status, kind, Basis.OBSERVED, health.seconds, since, seen, why)

    if health.lost:
        yield judged(GroupStatus.ERR, Problem.DATA_LOST, lost_records(health.lost))
    loss = health.loss
    if loss is not None and loss.is_near:
        status = GroupStatus.ERR if loss.seconds <= loss.SOON else GroupStatus.WARN
        where = f"unread records of {loss.topic}-{loss.partition} may expire {loss_when(loss)}"
        yield judged(status, Problem.LOSS_NEAR, where)
    worst = health.worst
    # Burrow's WARN means only that the lag did not fall during the last few commits. If the lag trend shows no growth,
    # the group keeps up, so WARN is ignored.
    steady = health.kind is Status.WARN and health.lag_grows is False
    if worst is not None and health.kind in _PROBLEMS and not steady:
        since = None if health.read_at is None or health.kind is Status.WARN else health.read_at - worst.still
        # kgtui observed the start of the problem if the committed offset has changed since kgtui first read it. This
        # first read of the offset can be up to `_FIRST_READ` seconds later than kgtui's first read of the group.
        seen = worst.still + _FIRST_READ < health.seconds
        if worst.rewind is not None:
            since, seen = worst.rewind.at, True
        status = GroupStatus.ERR if health.status is Status.ERR else GroupStatus.WARN
        yield judged(status, _PROBLEMS[health.kind], reason(health, group_type), since, seen)
    rate = health.rebalances
    if rate is not None and rate.flapping:
        why = f"at least {rate.rebalances} rebalances in {duration(rate.seconds)}"
        yield judged(GroupStatus.WARN, Problem.FLAPPING, why)
    if health.unsettled is not None and health.read_at is not None:
        began, seen = health.read_at - health.unsettled, health.unsettled < health.seconds
        yield judged(GroupStatus.WARN, Problem.REBALANCING, unsettled_reason(health.state), began, seen)
