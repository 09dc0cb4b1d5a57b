"""Results of reads and writes on a Kafka cluster.

The result of a read may be partial: it contains the rows that could be read, a fault for each broker or group that
could not be read, and how many brokers responded and how many groups were described.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.errors import KgtuiError

RowsT = TypeVar("RowsT", covariant=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of one request, as data: what could not be read or done, and why.

    Attributes:
        name: Kafka's error name, such as `GROUP_AUTHORIZATION_FAILED`. If a request got no valid response, the name is
            one that kgtui defines: `NOT_CONNECTED`, `NO_ANSWER`, `DISCONNECTED`, `NOT_SUPPORTED`, `DAMAGED_ANSWER`. The
            name `OFFSETS_MAY_BE_HIDDEN` means that the response possibly lacks offsets because of missing permissions.
            `OFFSETS_HIDDEN` means that the response certainly lacks offsets.
        message: text for the user, which names the request and the broker.
        code: Kafka's error code; None if kgtui defines the name.
        broker: node id of the broker to which the request was sent; None if it is not known.
        group: id of the group that could not be read or changed; None if the fault concerns a whole broker or cluster.
        advice: what the user can do; `` if there is nothing to add.
    """

    name: str
    message: str
    code: int | None = None
    broker: int | None = None
    group: str | None = None
    advice: str = ""


def fault_of(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """Convert an exception to a fault. `broker` is the node id to use if the exception does not name a broker."""
    named = getattr(error, "broker", None)
    return Fault(
        error.fault_name,
        str(error),
        getattr(error, "code", None),
        broker if named is None else named,
        group,
        error.advice,
    )


def why_missing(faults: Iterable[Fault], group: str) -> Fault:
    """Return the fault that explains why a group is missing from the rows of an answer.

    The result is the first fault of this group. If the group has no fault, the result is the first fault of a whole
    broker or cluster.
    """
    general: Fault | None = None
    for fault in faults:
        if fault.group == group:
            return fault
        if fault.group is None and general is None:
            general = fault
    return general or Fault("NO_ANSWER", "the broker's response does not contain this group", group=group)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How complete an answer is.

    Attributes:
        brokers: a pair: number of brokers that responded, and number of all brokers to which requests were sent.
        groups: a pair: number of groups that were described, and number of all groups that were requested.
    """

    brokers: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (0, 0)

    @property
    def complete(self) -> bool:
        """Whether every broker responded and every group was described."""
        return self.brokers[0] == self.brokers[1] and self.groups[0] == self.groups[1]


@dataclass(frozen=True, slots=True)
class Answer(Generic[RowsT]):
    """The result of a read, which may be partial.

    Attributes:
        rows: the data that could be read. The function that returns the answer documents the type of the rows.
        faults: one fault per broker or group that failed.
        coverage: how many brokers responded, and how many groups were described.
        hidden: group id → topics that the user may not describe. The rows lack offsets of the group in these topics, or
            possibly lack them. The tuple is empty if the names of the topics are not known. Only answers with offsets
            set this attribute.
    """

    rows: RowsT
    faults: tuple[Fault, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one write. A write may concern a whole group, or one topic or partition of a group.

    Attributes:
        group: id of the group that the write concerns.
        fault: why the write failed; None if it succeeded.
        uncertain: True if the request was sent and no response arrived, so that the write may have been executed.
    """

    group: str
    fault: Fault | None = None
    uncertain: bool = False

    @property
    def ok(self) -> bool:
        """Whether the broker confirmed the write."""
        return self.fault is None
