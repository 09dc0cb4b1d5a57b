"""Results of reads and writes on a Kafka cluster.

A read can fail for some brokers or groups and succeed for the others. The result then contains one fault for each
broker or group that failed, and the rows of all others.
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
    """The error of one request.

    Attributes:
        name: Kafka's error name, such as `GROUP_AUTHORIZATION_FAILED`, or a name that kgtui defines. kgtui defines
            `NOT_CONNECTED`, `NO_ANSWER`, `DISCONNECTED`, `NOT_SUPPORTED` and `DAMAGED_ANSWER` for requests without a
            valid response. It also defines `OFFSETS_MAY_BE_HIDDEN` for offsets that may be missing, and
            `OFFSETS_HIDDEN` for offsets that are missing, because the user lacks permissions.
        message: error message for the user, which names the request and the broker.
        code: Kafka's error code; None if kgtui defines the name.
        broker: node id of the broker to which the request was sent, or None.
        group: group id; None if the fault concerns a whole broker or cluster.
        advice: what the user can do; empty if there is no advice.
    """

    name: str
    message: str
    code: int | None = None
    broker: int | None = None
    group: str | None = None
    advice: str = ""


def fault_of(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """Convert an exception to a fault.

    Args:
        broker: node id to use if the exception does not contain a node id, or None.
        group: id of the group that the request was about, or None.
    """
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
    """Return the fault that explains why a group is missing from an answer.

    This is the first fault of the group. If the group has none, it is the first fault of a whole broker or cluster. If
    there is none either, it is a new fault with the name `NO_ANSWER`.
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
        brokers: `(number of brokers that responded, number of brokers that were asked)`.
        groups: `(number of groups that were described, number of groups that were requested)`.
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
        rows: the data that could be read.
        faults: one fault per broker or group that failed.
        hidden: group id → topics whose offsets the broker left out, because the user lacks DESCRIBE on them. An empty
            tuple means that the broker may have left out offsets, but the topics are not known. Groups with complete
            offsets are not included. The mapping is empty in answers that are not about offsets.
    """

    rows: RowsT
    faults: tuple[Fault, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one write to a group, topic or partition.

    Attributes:
        fault: why the write failed; None if it succeeded.
        uncertain: True if no response arrived, so that it is not known whether the broker executed the write.
    """

    group: str
    fault: Fault | None = None
    uncertain: bool = False

    @property
    def ok(self) -> bool:
        """Whether the broker confirmed the write."""
        return self.fault is None
