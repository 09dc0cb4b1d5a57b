"""Part of the truth, with its label: rows, what failed, and how much of all that was asked for is covered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.errors import KgtuiError

RowsT = TypeVar("RowsT", covariant=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that could not be learned, or done, and why.

    Attributes:
        name: Kafka's error name (`GROUP_AUTHORIZATION_FAILED`), or one of ours for what never got an answer:
            `NOT_CONNECTED`, `NO_ANSWER`, `DISCONNECTED`, `NOT_SUPPORTED`, `DAMAGED_ANSWER`.
        message: for a person; says what was asked of whom.
        code: Kafka's error code; None for ours.
        broker: node id of the broker that failed or answered, if known.
        group: group id, if it concerns one group.
        advice: what to do about it; `` when there is nothing to say.
    """

    name: str
    message: str
    code: int | None = None
    broker: int | None = None
    group: str | None = None
    advice: str = ""


def fault_of(error: KgtuiError, *, broker: int | None = None, group: str | None = None) -> Fault:
    """The fault that tells of an error; the broker that the error names goes before `broker`."""
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
    """Return the fault that explains why a group is not among the rows of an answer.

    That is a fault of the group itself, else the first one that concerns no single group.
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
    """How many of how many: brokers that answered, groups that were described."""

    brokers: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (0, 0)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.brokers[0] == self.brokers[1] and self.groups[0] == self.groups[1]


@dataclass(frozen=True, slots=True)
class Answer(Generic[RowsT]):
    """What could be learned, and what could not.

    Attributes:
        rows: what was asked for, in the shape that the call documents.
        faults: one per broker or group that failed.
        coverage: see `Coverage`.
    """

    rows: RowsT
    faults: tuple[Fault, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one write on one item.

    Attributes:
        group: group id acted on.
        fault: None when it was done.
        uncertain: the request was sent and no answer came: it may have been carried out.
    """

    group: str
    fault: Fault | None = None
    uncertain: bool = False

    @property
    def ok(self) -> bool:
        """Whether it was certainly done."""
        return self.fault is None
