"""The marks that tables show in place of an unknown value: `–` none, `?` no answer, `x` no permission; never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model import fields
from kgtui.model.fields import Missing

if TYPE_CHECKING:
    from kgtui.model.answer import Fault
    from kgtui.model.fields import Field, Row

NONE = fields.NONE
NO_ANSWER = "?"
FORBIDDEN = "x"
AT_LEAST = "≥"

ASCII = {ord(NONE): "-", ord(AT_LEAST): ">="}
"""Replacements of the marks for terminals and files that take ASCII only, for `str.translate`."""

_AUTHORIZATION_FAILED = frozenset({29, 30, 31})  # TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED


def unknown(fault: Fault | None) -> str:
    """Return the mark for a value that could not be read because of a fault; `–` if there is no fault."""
    if fault is None:
        return NONE
    return FORBIDDEN if fault.code in _AUTHORIZATION_FAILED else NO_ANSWER


def unread_partition(reason: str | None) -> str:
    """Return the mark for a missing offset or lag, from `PartitionLag.reason`."""
    if reason in (None, "", "no commit"):
        return NONE
    return FORBIDDEN if reason == "forbidden" else NO_ANSWER


def count(value: int | None, fault: Fault | None = None) -> str:
    """Write a number, or the mark that says why it is unknown."""
    return unknown(fault) if value is None else str(value)


def lag(value: int | None, uncounted: int, fault: Fault | None = None) -> str:
    """Write a summed lag, with `≥` before it if the lag of some partitions is unknown."""
    if value is None:
        return NO_ANSWER if fault is None and uncounted else unknown(fault)
    return f"{AT_LEAST} {value}" if uncounted else str(value)


def text(value: str | None) -> str:
    """Return the text, or the mark for none if there is no text."""
    return NONE if value is None or value == "" else value


def cell(field: Field[Row], unread: str, *row: Row.args, **named: Row.kwargs) -> str:
    """Write a field of one row for a table, or the mark that says why it has no value.

    Args:
        field: the field.
        unread: mark for a value that was not read, which depends on the row.
        row, named: what the field takes its value from.
    """
    return or_mark(field.text(*row, **named), field.missing, unread)


def or_mark(text: str, missing: Missing, unread: str) -> str:
    """Return the text of a field; if it is empty or `?`, the mark that says why the value is missing."""
    if text and text != NO_ANSWER:
        return text
    if missing is Missing.UNREAD:
        return NO_ANSWER if text and unread != FORBIDDEN else unread
    return NONE if missing is Missing.NONE else NO_ANSWER
