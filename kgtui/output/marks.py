"""How tables write a value that is unknown, and why: `–` none, `?` no answer, `x` no permission; never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.model.answer import Fault

NONE = "–"
NO_ANSWER = "?"
FORBIDDEN = "x"
AT_LEAST = "≥"

ASCII = {ord(NONE): "-", ord(AT_LEAST): ">="}
"""For terminals and files that take ASCII only (`str.translate`)."""

_FORBIDDING = frozenset({29, 30, 31})  # TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED


def unknown(fault: Fault | None) -> str:
    """The mark for a value that could not be learned because of a fault; without one there is no such value."""
    if fault is None:
        return NONE
    return FORBIDDEN if fault.code in _FORBIDDING else NO_ANSWER


def count(value: int | None, fault: Fault | None = None) -> str:
    """A number, or the mark of why there is none."""
    return unknown(fault) if value is None else str(value)


def lag(value: int | None, uncounted: int, fault: Fault | None = None) -> str:
    """A summed lag; with `≥` when some partitions could not be counted."""
    if value is None:
        return NO_ANSWER if fault is None and uncounted else unknown(fault)
    return f"{AT_LEAST} {value}" if uncounted else str(value)


def text(value: str | None) -> str:
    """A text, or the mark for none."""
    return NONE if value is None or value == "" else value
