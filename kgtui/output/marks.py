"""The symbols for a missing value in a table: `–` no value, `?` unknown or not read, `x` access denied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model import error_numbers
from kgtui.model.fields import Missing
from kgtui.model.marks import UNICODE

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.fields import Field, Row

NONE = UNICODE.none
NO_ANSWER = UNICODE.unknown
FORBIDDEN = UNICODE.forbidden


def unknown(fault: Fault | None) -> str:
    """Return the symbol for a missing value: `x` for denied access, `?` for other errors, `–` if there was no error."""
    if fault is None:
        return NONE
    return FORBIDDEN if fault.code in error_numbers.FORBIDDEN else NO_ANSWER


def unread_partition(reason: str | None) -> str:
    """Return the symbol for a missing offset or lag of a partition.

    Args:
        reason: why the value is missing, such as "no commit" or "forbidden" (`PartitionLag.reason`).
    """
    if reason in (None, "", "no commit"):
        return NONE
    return FORBIDDEN if reason == "forbidden" else NO_ANSWER


def count(value: int | None, fault: Fault | None = None) -> str:
    """Return a number as text. If it is None, return the symbol for a missing value.

    Args:
        fault: why the value could not be read; None if there was no error. It selects the symbol (see `unknown`).
    """
    return unknown(fault) if value is None else str(value)


def lag(value: int | None, lower_bound: bool | int, fault: Fault | None = None) -> str:
    """Return a total lag as text, such as `120` or `≥ 120`, or the symbol for an unknown lag.

    Args:
        value: the total lag; None if unknown.
        lower_bound: whether the actual total can be higher, because the lag of some partitions is unknown or hidden.
            Instead of a bool, it can be the number of these partitions.
        fault: why the group could not be read; None if it could be read.
    """
    if value is None:
        return NO_ANSWER if fault is None and lower_bound else unknown(fault)
    return f"{UNICODE.at_least}{value}" if lower_bound else str(value)


def text(value: str | None) -> str:
    """Return `value`, or `–` if it is None or empty."""
    return NONE if value is None or value == "" else value


def cell(field: Field[Row], unread: str, *row: Row.args, **named: Row.kwargs) -> str:
    """Return the text of a table cell: the value of a field, or the symbol for a missing value.

    Args:
        unread: the symbol for a value that could not be read.
        row, named: positional and keyword arguments for `field.text`, such as a snapshot and a group id.
    """
    return or_mark(field.text(*row, **named), field.missing, unread)


def or_mark(text: str, missing: Missing, unread: str) -> str:
    """Return `text`, or the symbol for a missing value if `text` is empty or `?`.

    Args:
        missing: why values of this field can be missing. If the reason is `Missing.NONE`, the symbol is `–`; if it is
            `Missing.UNKNOWN`, the symbol is `?`.
        unread: the symbol for a value that could not be read (`Missing.UNREAD`).
    """
    if text and text != NO_ANSWER:
        return text
    if missing is Missing.UNREAD:
        return NO_ANSWER if text and unread != FORBIDDEN else unread
    return NONE if missing is Missing.NONE else NO_ANSWER
