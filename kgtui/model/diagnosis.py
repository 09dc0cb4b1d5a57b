"""The diagnosis of a group: what is wrong, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model import group_types as states
from kgtui.model.empty_reason import SIMPLE_ADVICE, empty_group_reason, is_simple
from kgtui.model.event import EventKind
from kgtui.model.explanation import Explanation, explain_fault, explain_offsets, explain_state, faults_of
from kgtui.model.guard import delete_availability
from kgtui.model.health.wording import duration, local_clock, loss_when
from kgtui.model.member_names import member_labels, owners_by_partition
from kgtui.model.number_format import counted
from kgtui.model.offsets import lags
from kgtui.model.problem import ONLY_COUNTED, PROBLEM_TEXTS, GroupStatus, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.answer import Fault
    from kgtui.model.health import GroupHealth
    from kgtui.model.health.values import Loss
    from kgtui.model.health.wording import Clock
    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot

_MOST_NAMED = 3  # maximum number of members that the text of a diagnosis names

_FLAPPING_SECONDS = 600.0
"""How far the diagnosis of a flapping group looks back, in seconds.

The diagnosis names the members that joined or left during this time. A flapping group rebalances again and again.
"""

_ABOUT_EMPTY = ONLY_COUNTED | {Problem.EMPTY}

_RESTART = "Start the application again, and find out why its members left."
_LOSS = "Key d shows what deleting the group would lose."
_DELETABLE = "The group can be deleted now."


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong with a group, why, and what to do next. A text is empty if there is nothing to say.

    Attributes:
        name: the problem in capitals, such as `FLAPPING`; otherwise `OK`, `NOT_FOUND` or `not known yet`.
        why: the reason for the problem.
        who: members, broker or user with the problem.
        advice: what the user can do next.
        also: other problems, such as `stopped since 09:12, flapping`.
    """

    judgment: Judgment
    name: str
    why: str = ""
    who: str = ""
    advice: str = ""
    also: str = ""


def diagnose(snapshot: Snapshot, group: str, clock: Clock) -> Diagnosis:
    """Return what is wrong with a group, why, which members, broker or user have the problem, and what to do next."""
    judgment = snapshot.judgment(group)
    kind = judgment.kind
    if judgment.status is GroupStatus.NOT_FOUND:
        return Diagnosis(judgment, judgment.status.value, judgment.reason)
    if kind is Problem.UNREADABLE or (kind is None and judgment.status is GroupStatus.UNKNOWN):
        return _of_unread_group(snapshot, group, judgment)
    if kind is None:
        return Diagnosis(judgment, judgment.status.value)
    health, listing, state = snapshot.health.get(group), snapshot.groups.get(group), snapshot.state_of(group)
    observed_at = facts.last_progress(snapshot, group) or facts.first_seen(snapshot, group)
    why = empty_group_reason(judgment, listing, state, snapshot.state_search, observed_at=observed_at, clock=clock)
    if kind is Problem.LOSS_NEAR and health is not None and health.loss is not None:
        why = _loss_text(health.loss, clock)
    # If the group has stopped, give the advice for a stopped group, even if it also has a more severe problem (data
    # loss). Faster consumers, for example, would not help a stopped group.
    cause = Problem.STOP if Problem.STOP in judgment.others else kind
    advice = PROBLEM_TEXTS[cause].advice
    if cause in (Problem.STOP, Problem.STALL) and state == states.EMPTY:
        advice = SIMPLE_ADVICE if is_simple(listing) else _RESTART
    elif kind in _ABOUT_EMPTY and is_simple(listing):
        advice = SIMPLE_ADVICE
    if kind in ONLY_COUNTED and delete_availability(snapshot, group) is None:
        advice = f"{advice} Otherwise, the group can be deleted."
    also = ", ".join(_other_problem(snapshot, group, other, clock) for other in judgment.others)
    return Diagnosis(judgment, kind.value.upper(), why, _who(snapshot, group, kind, health), advice, also)


def _other_problem(snapshot: Snapshot, group: str, kind: Problem, clock: Clock) -> str:
    """Return the name of a problem, such as `flapping`. For a stopped group, add the time, as in `stopped since 09:12`.

    If kgtui knows only that the last consumed record was written at 09:12, the text is `stopped after 09:12`. If no
    time is known, the text is `stopped`.
    """
    if kind is not Problem.STOP:
        return str(kind.value)
    since = snapshot.state_since.get(group) if snapshot.state_of(group) == states.EMPTY else None
    since = since or facts.last_progress(snapshot, group)
    if since is not None:
        return f"{kind.value} since {clock(since)}"
    health = snapshot.health.get(group)
    after = None if health is None else health.stopped_after
    return kind.value if after is None else f"{kind.value} after {clock(after)}"


def _loss_text(loss: Loss, clock: Clock) -> str:
    when = loss_when(loss, clock)
    remaining = f", in {duration(loss.seconds)}" if when.startswith("from ") else ""
    return f"unread records of {loss.topic}-{loss.partition} may expire {when}{remaining}"


def _of_unread_group(snapshot: Snapshot, group: str, judgment: Judgment) -> Diagnosis:
    """Return the diagnosis of a group that cannot be judged, because a read failed or there were too few reads."""
    name = "not known yet" if judgment.kind is None else judgment.kind.value.upper()
    faults = faults_of(snapshot, group)
    if not faults:
        # No read failed, but the data is not enough to judge the group. `judgment.reason` may say what is missing.
        return Diagnosis(judgment, name, judgment.reason)
    fault = faults[0]
    advice = fault.advice or explain_fault(fault).advice
    return Diagnosis(
        judgment, name, judgment.reason or fault.message, _who_cannot_read(fault), f"{advice[:1].upper()}{advice[1:]}"
    )


def _who_cannot_read(fault: Fault) -> str:
    if fault.name.endswith("AUTHORIZATION_FAILED"):
        return "your user lacks the permission"
    return "" if fault.broker is None else f"broker {fault.broker}"


def _who(snapshot: Snapshot, group: str, kind: Problem, health: GroupHealth | None) -> str:
    if snapshot.state_of(group) == states.EMPTY:
        return "" if is_simple(snapshot.groups.get(group)) else "the group has no members"
    if kind is Problem.DATA_LOST:
        return _who_lost(snapshot, group)
    if kind is Problem.FLAPPING:
        return _who_flaps(snapshot, group)
    if kind is Problem.NO_PARTITIONS:
        return _who_is_idle(snapshot, group)
    if health is None:
        return ""
    if kind is Problem.REBALANCING:
        return _who_delays(snapshot, group, health)
    if kind is Problem.LOSS_NEAR and health.loss is not None:
        return _owner(snapshot, group, health.loss.topic, health.loss.partition)
    if kind in (Problem.STOP, Problem.STALL, Problem.REWIND, Problem.BEHIND):
        # `health.worst` is None if every partition is OK by Burrow's rules. In this case, the partition with the
        # largest lag is named.
        worst = health.worst or max(health.partitions.values(), key=lambda row: row.lag or 0, default=None)
        return "" if worst is None else _owner(snapshot, group, worst.topic, worst.partition)
    return ""


def _owner(snapshot: Snapshot, group: str, topic: str, partition: int) -> str:
    """Return a text such as `client-1 at /10.0.0.7 owns orders-3`, or `no member owns orders-3`; empty if not known."""
    reading, members = snapshot.details.get(group), facts.members_of(snapshot, group)
    if reading is None or not members:
        return ""
    owners = owners_by_partition(reading.value).get((topic, partition))
    if owners:
        return f"{member_labels(members)[owners[0].member_id]} owns {topic}-{partition}"
    if any(member.assignment is None for member in members):
        return ""
    return f"no member owns {topic}-{partition}"


def _who_lost(snapshot: Snapshot, group: str) -> str:
    """Return a text that names the owner of the partition with the most lost records; empty if no records are lost.

    If other partitions have lost records, too, the text contains the number of these partitions.
    """
    reading = snapshot.offsets.get(group)
    lost = [row for row in lags(reading.value) if row.lost] if reading is not None else []
    if not lost:
        return ""
    worst = max(lost, key=lambda row: row.lost or 0)
    name = f"{worst.topic}-{worst.partition}"
    owner = _owner(snapshot, group, worst.topic, worst.partition) or name
    others = len(lost) - 1
    return f"{owner}; records of {counted(others, 'more partition')} are lost" if others else owner


def _who_flaps(snapshot: Snapshot, group: str) -> str:
    """Return a text with the members that joined or left most often in the last `_FLAPPING_SECONDS` seconds.

    The text is empty if no member joined or left.
    """
    changes: dict[str, int] = {}
    for event in reversed(snapshot.events):
        if event.at < snapshot.taken_at - _FLAPPING_SECONDS:
            break
        if event.group == group and event.kind in (EventKind.JOINED, EventKind.LEFT) and event.number == 1:
            changes[event.subject] = changes.get(event.subject, 0) + 1
    ordered = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    named = [
        f"{member} joined or left {'once' if n == 1 else counted(n, 'time')}" for member, n in ordered[:_MOST_NAMED]
    ]
    return _and_more(named, len(ordered))


def _who_is_idle(snapshot: Snapshot, group: str) -> str:
    members = facts.members_of(snapshot, group)
    labels = member_labels(members)
    idle = sorted(labels[member.member_id] for member in members if member.assigned_count == 0)
    return _and_more([f"{label} has no partition" for label in idle[:_MOST_NAMED]], len(idle))


def _and_more(named: list[str], count: int) -> str:
    """Join the texts in `named`. If there are more texts (`count` in all), add how many are not named.

    For example, the result is `a, b and 4 more` if `named` has the two texts `a` and `b`, and `count` is 6.
    """
    more = count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _who_delays(snapshot: Snapshot, group: str, health: GroupHealth) -> str:
    if not health.holding_up:
        classic = facts.type_of(snapshot, group) == "classic"
        return "not known: Kafka does not report which member of a classic group is late" if classic else ""
    labels = member_labels(facts.members_of(snapshot, group))
    named = []
    for member_id, epochs in list(health.holding_up.items())[:_MOST_NAMED]:
        member = labels.get(member_id, member_id)
        late = "has left" if epochs is None else f"is {counted(epochs, 'epoch')} behind"
        named.append(f"{member} {late}")
    return _and_more(named, len(health.holding_up))


def explain_verdict(diagnosis: Diagnosis, clock: Callable[[float], str]) -> Explanation:
    """Convert the diagnosis of a group to an `Explanation`.

    Args:
        clock: converts epoch seconds to text.
    """
    judgment = diagnosis.judgment
    return Explanation(
        diagnosis.name, why=diagnosis.why, since=judgment.since_text(clock).removeprefix("since "), who=diagnosis.who,
        also=diagnosis.also, basis="" if judgment.status is GroupStatus.NOT_FOUND else judgment.basis_text,
        advice=diagnosis.advice, is_problem=judgment.kind is not None, status=judgment.status.name,
    )  # fmt: skip


def explain_group(snapshot: Snapshot, group: str, clock: Clock | None = None) -> list[Explanation]:
    """Return explanations of a group: its verdict, errors, lost records, unknown lag and state, in this order.

    Args:
        clock: converts epoch seconds to text; None for local time.
    """
    clock = clock or local_clock(snapshot.taken_at)
    diagnosis = diagnose(snapshot, group, clock)
    found = [explain_verdict(diagnosis, clock), *(explain_fault(fault) for fault in faults_of(snapshot, group))]
    offsets = snapshot.offsets.get(group)
    if offsets is not None:
        found += explain_offsets(offsets.value)
    state = snapshot.state_of(group)
    return [*found, _explain_state_of(snapshot, group, state, diagnosis.judgment)] if state else found


def _explain_state_of(snapshot: Snapshot, group: str, state: str, judgment: Judgment) -> Explanation:
    """Explain the state of a group. If the group has a problem, the text must not contradict this.

    For example, the usual text for `Stable` sounds healthy, so a group that has stopped gets a different text.
    """
    explanation = explain_state(state)
    if state == states.STABLE and judgment.status is not GroupStatus.OK:
        meaning = "No rebalance is in progress. This state does not say whether the members read their partitions."
        return replace(explanation, meaning=meaning)
    if state == states.EMPTY and judgment.kind is not Problem.UNREADABLE:
        refusal = delete_availability(snapshot, group)
        if refusal is not None:
            return replace(explanation, advice=f"The group cannot be deleted now: {refusal}.")
        needed = judgment.kind is not None and judgment.kind not in _ABOUT_EMPTY
        return replace(explanation, advice=_LOSS if needed else _DELETABLE)
    return explanation
