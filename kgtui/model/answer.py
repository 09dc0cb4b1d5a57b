"""Results of reads and writes on a Kafka cluster.

A read can fail for only some of the brokers or groups. The result then has one `Fault` for each broker or group that
failed, and the data of all other brokers and groups.
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
    """The error of one request, or the reason why the result of the request is incomplete.

    The name is Kafka's error name, or a name that kgtui defines. `NOT_CONNECTED`, `NO_ANSWER`, `DISCONNECTED`,
    `NOT_SUPPORTED` and `DAMAGED_ANSWER` mean that there was no valid response. `OFFSETS_HIDDEN` and
    `OFFSETS_MAY_BE_HIDDEN` mean that the user lacks a permission to see offsets.

    Attributes:
        name: Kafka's error name, such as `GROUP_AUTHORIZATION_FAILED`, or a name that kgtui defines.
        message: error message. If a request failed, the message names the request and the broker.
        code: Kafka's error code; None if there is no error code. `OFFSETS_HIDDEN`, which kgtui
            defines, has the code of `TOPIC_AUTHORIZATION_FAILED`.
        broker: node id of the broker to which the request was sent; None if there is no such broker, or if it is not
            known.
        group: group id; None if a whole broker or cluster is affected.
        advice: what the user can do; empty if there is no advice.
    """

    name: str
    message: str
    code: int | None = None
    broker: int | None = None
    group: str | None = None
    advice: str = ""


def fault_of(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """Convert an exception to a `Fault`.

    Args:
        broker: node id of the broker to which the request was sent. It is used only if the exception has no node id.
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
    """Return the fault that explains why the result of a read does not contain a group.

    The result is the first fault of the group. If the group has no fault, the result is the first fault of a whole
    broker or cluster. If there is no such fault either, the result is a new fault with the name `NO_ANSWER`.
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
    """How complete the result of a read is.

    Attributes:
        brokers: pair (number of brokers that responded, number of brokers that were asked).
        groups: pair (number of groups that were read, number of groups that were requested).
    """

    brokers: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (0, 0)

    @property
    def complete(self) -> bool:
        """Whether every broker that was asked has responded, and every requested group was read."""
        return self.brokers[0] == self.brokers[1] and self.groups[0] == self.groups[1]


@dataclass(frozen=True, slots=True)
class Answer(Generic[RowsT]):
    """The result of a read, which may be partial.

    Attributes:
        rows: the data that could be read.
        faults: one fault per failed broker or group.
        hidden: group id → topics whose offsets are missing, because the user lacks DESCRIBE. An empty tuple means that
            offsets might be missing, but kgtui does not know in which topics. Groups with complete offsets are left
            out.
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
        uncertain: whether the write may have been executed although the broker did not confirm it, for example after a
            timeout.
    """

    group: str
    fault: Fault | None = None
    uncertain: bool = False

    @property
    def ok(self) -> bool:
        """Whether the broker confirmed the write."""
        return self.fault is None
