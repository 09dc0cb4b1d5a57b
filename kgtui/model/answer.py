"""Results of reads.

A result may be partial: it has the rows that could be read, the faults, and how many brokers and groups are covered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.errors import KgtuiError

RowsT = TypeVar("RowsT", covariant=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that could not be read or done, with the reason.

    Attributes:
        name: Kafka's error name, such as `GROUP_AUTHORIZATION_FAILED`, or a name that kgtui defines for a request
            without a valid response: `NOT_CONNECTED`, `NO_ANSWER`, `DISCONNECTED`, `NOT_SUPPORTED`, `DAMAGED_ANSWER`.
        message: text for the user, which names the request and the broker.
        code: Kafka's error code; None for the names of kgtui.
        broker: node id of the broker that failed or responded; None if it is not known.
        group: group id; None if the fault does not concern a single group.
        advice: what the user can do; `` if there is nothing to add.
    """

    name: str
    message: str
    code: int | None = None
    broker: int | None = None
    group: str | None = None
    advice: str = ""


def fault_of(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """Make a fault from an error. `broker` is used only if the error does not name a broker itself."""
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

    A fault of the group itself takes precedence. Otherwise, the first fault that does not concern a single group is
    returned.
    """
    general: Fault | None = None
    for fault in faults:
        if fault.group == group:
            return fault
        if fault.group is None and general is None:
            general = fault
    return general or Fault("NO_ANSWER", "the broker's answer does not mention it", group=group)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How complete an answer is.

    Each attribute is a pair of numbers: `(answered, all)` for brokers, `(described, all)` for groups.
    """

    brokers: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (0, 0)

    @property
    def complete(self) -> bool:
        """Whether every broker answered and every group was described."""
        return self.brokers[0] == self.brokers[1] and self.groups[0] == self.groups[1]


@dataclass(frozen=True, slots=True)
class Answer(Generic[RowsT]):
    """The result of a read, which may be partial.

    Attributes:
        rows: the data that could be read. The function that returns the answer documents the type of the rows.
        faults: one fault per broker or group that failed.
        coverage: how many brokers and groups the rows cover.
    """

    rows: RowsT
    faults: tuple[Fault, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one write on one item.

    Attributes:
        group: group id of the item.
        fault: why the write failed; None if it succeeded.
        uncertain: True if the request was sent and no response arrived, so that the write may have been executed.
    """

    group: str
    fault: Fault | None = None
    uncertain: bool = False

    @property
    def ok(self) -> bool:
        """Whether the write succeeded without doubt."""
        return self.fault is None
