"""The rows and columns of the Offsets pane: one row per partition, and one row per topic with the topic's total lag."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kgtui.model.explanation import reason_text
from kgtui.model.fields import partition_fields
from kgtui.model.health.values import Loss
from kgtui.model.health.wording import duration
from kgtui.model.member_names import member_names, owners_by_partition
from kgtui.model.number_format import counted
from kgtui.model.offsets import lags, total
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    WARN,
    Cell,
    PaneLine,
    lag_cell,
    no_value_cell,
    none_cell,
    number_cell,
    optional_cell,
    unknown_cell,
)
from kgtui.tui.panes.columns import Column, field_column
from kgtui.tui.panes.offset_bars import OffsetRow, bar_columns, lead_fraction
from kgtui.tui.sparkline import scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from kgtui.model.fields.partition_fields import PartitionRow
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import GroupOffsets


_DATE_SHOWN_AFTER = 43_200.0
"""A time is shown with its date if it is at least this many seconds before or after now."""


CYCLED_COLUMNS = ("topic", "lag", "lead", "owner")
"""Ids of the columns by which key `s` sorts the table. Each press of the key switches to the next column."""

LARGEST_FIRST = frozenset({"lag", "lag-bar", "note"})
"""Ids of the columns whose largest value comes first when the user sorts by the column.

For all other columns, the smallest value comes first. For example, partitions with the smallest lead (committed offset
minus log start) come first, because their unread records expire soonest.
"""


def partition_rows(offsets: GroupOffsets, description: GroupDescription | None) -> list[OffsetRow]:
    """Return one row per partition that has an offset or an owner, sorted by topic and partition.

    Args:
        description: description of the group, which contains the owners. If None (not read), no row has an owner.
    """
    owners, share = owners_by_partition(description), bool(offsets.share)
    names = member_names((description.members if description is not None else None) or ())
    rows, found = [], lags(offsets)
    scale = scale_of(max((one.lag or 0 for one in found), default=0))
    for one in found:
        members = owners.get((one.topic, one.partition))
        if members is None:
            rows.append(OffsetRow(one.topic, one.partition, one, None, None, None, one.lost or 0, share, scale))
            continue
        name = names[members[0].member_id] if len(members) == 1 else counted(len(members), "member")
        ids = ", ".join(member.member_id for member in members)
        rows.append(OffsetRow(one.topic, one.partition, one, name, ids, None, one.lost or 0, share, scale))
    return rows


def filter_and_sort(
    rows: Sequence[OffsetRow], order: str, *, descending: bool, lagging: bool, filter_text: str = ""
) -> list[OffsetRow]:
    """Return the rows of the partitions that match the filters, in the given order.

    If the rows are sorted by topic, also return a row with the total lag of each topic that has several partitions. It
    precedes the rows of the topic's partitions. The total includes partitions that do not match the filters.

    Args:
        order: id of the column to sort by. Rows that have no value in this column come last.
        lagging: whether to return only partitions with lag, unknown lag or lost records (`is_lagging`).
        filter_text: text to search for, ignoring case. A row matches if the text occurs in its topic, its partition
            (such as `topic-3`), an owner's name or id, or its note. An empty text matches every row.
    """
    kept = [row for row in rows if (not lagging or is_lagging(row)) and _matches(row, filter_text)]
    if order == "topic":
        return list(_with_totals(kept, rows, descending))
    key = _sort_key(order)
    sortable = [row for row in kept if key(row) is not None]
    sortable.sort(key=lambda row: (key(row), row.key), reverse=descending)
    return sortable + [row for row in kept if key(row) is None]


def is_lagging(row: OffsetRow) -> bool:
    """Return whether a partition has a lag above 0, an unknown lag, or lost records.

    But if a partition has no committed offset, return False, although its lag is unknown. For a row that shows the
    total lag of a topic, always return True.
    """
    one = row.lag
    return one is None or bool(one.lag) or bool(one.lost) or (one.lag is None and one.reason != "no commit")


def _matches(row: OffsetRow, filter_text: str) -> bool:
    if not filter_text:
        return True
    searched = (row.topic, f"{row.topic}-{row.partition}", row.owner, row.member_id, _note_text(row))
    return any(filter_text.lower() in part.lower() for part in searched if part)


def _with_totals(kept: Sequence[OffsetRow], rows: Sequence[OffsetRow], descending: bool) -> Iterable[OffsetRow]:
    by_topic: dict[str, list[OffsetRow]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    shown: dict[str, list[OffsetRow]] = {}
    for row in kept:
        shown.setdefault(row.topic, []).append(row)
    for topic in sorted(shown, reverse=descending):
        all_rows = by_topic[topic]
        if len(all_rows) > 1:
            summed = total(row.lag for row in all_rows if row.lag is not None)
            yield OffsetRow(topic, -1, topic_total=summed, lost=sum(row.lost for row in all_rows))
        yield from shown[topic]


def _sort_key(column_id: str) -> Callable[[OffsetRow], Any]:
    """Return the function that maps a row to its sort value in this column, or to None if the row has no value."""
    if column_id == "note":
        return lambda row: _note_text(row) or None
    values: dict[str, Callable[[OffsetRow], Any]] = {column.id: column.value for column in offset_columns(share=False)}
    values |= {
        "partition": _partition_number,
        "age": _seconds_unread,
        "expires": _expires_at,
        "lag-bar": lambda row: row.lag.lag if row.lag else None,
        "lead-bar": lead_fraction,
    }
    return values.get(column_id, _partition_number)


def offset_columns(*, share: bool, timed: bool = True) -> list[Column[OffsetRow]]:
    """Return the columns of the table of partitions.

    Args:
        share: whether the group is a share group, which has start offsets instead of committed offsets.
        timed: whether to include the columns for the age and the expiry of the first unread record.
    """

    position = partition_fields.START_OFFSET if share else partition_fields.COMMITTED
    lag_bar, lead_bar = bar_columns()
    columns: list[Column[OffsetRow]] = [
        Column("topic", partition_fields.TOPIC.title, lambda row: row.topic, _topic, min_width=18, max_width=48,
               cut="middle"),
        Column("partition", "P", lambda row: _partition(row).text, _partition, right=True),
        field_column(partition_fields.LAG, _record, value=_widest_lag, render=_lag),
        lag_bar,
        Column("age", "AGE", lambda row: _age(row).text, _age, rank=2, right=True, full=_full_age),
        Column("committed", position.title, lambda row: row.lag.position if row.lag else None, _position, rank=2,
               right=True),
        lead_bar,
        field_column(partition_fields.LOG_END, _record,
                     render=lambda row: _bound(row, row.lag.log_end if row.lag else None), rank=3),
        Column("note", "NOTE", lambda row: _note(row).text, _note, rank=1, min_width=15, max_width=28),
        Column("expires", "EXPIRES", lambda row: _expires(row).text, _expires, rank=5, right=True, full=_full_expires),
        field_column(partition_fields.LEAD, _record, render=_lead, rank=5),
        field_column(partition_fields.LOG_START, _record,
                     render=lambda row: _bound(row, row.lag.log_start if row.lag else None), rank=6),
        Column("owner", partition_fields.OWNER.title, lambda row: row.owner, _owner, rank=4, min_width=14,
               max_width=28, cut="middle", full=_full_owner),
        field_column(partition_fields.LEADER_EPOCH, _record, rank=7),
    ]  # fmt: skip
    if not share:
        columns.append(field_column(partition_fields.METADATA, _record, rank=8, max_width=32))
    return columns if timed else [column for column in columns if column.id not in ("age", "expires")]


def _record(row: OffsetRow) -> PartitionRow | None:
    # The fields of `kgtui.model.fields` expect a `PartitionRow`. The cast is safe, because an `OffsetRow` has all
    # attributes of a `PartitionRow`.
    return None if row.lag is None else cast("PartitionRow", row)


def _partition_number(row: OffsetRow) -> int:
    return row.partition


def _topic(row: OffsetRow) -> Cell:
    if row.topic_total is not None:
        return Cell(row.topic, ACCENT)
    return Cell(row.topic)


def _partition(row: OffsetRow) -> Cell:
    if row.topic_total is not None:
        return Cell(f"{text.marks().times}{row.topic_total.partitions}", ACCENT)
    return Cell(str(row.partition))


def _widest_lag(row: OffsetRow) -> int | str | None:
    return _lag(row).text if row.topic_total else row.lag.lag if row.lag else None


def _lag(row: OffsetRow) -> Cell:
    summed = row.topic_total
    if summed is not None:
        if summed.lag is None:
            return Cell(text.lag(None, summed.unknown), ACCENT)
        return Cell((text.marks().at_least.strip() if summed.unknown else "") + text.exact(summed.lag), ACCENT)
    return lag_cell(row.lag) if row.lag else none_cell()


def _position(row: OffsetRow) -> Cell:
    if row.lag is None:
        return Cell("")
    return no_value_cell(row.lag.reason) if row.lag.position is None else number_cell(row.lag.position)


def _bound(row: OffsetRow, value: int | None) -> Cell:
    if row.lag is None:
        return Cell("")
    if value is not None:
        return Cell(text.exact(value), MUTED)
    return no_value_cell("" if row.lag.reason == "no commit" else row.lag.reason)


def _lead(row: OffsetRow) -> Cell:
    if row.lag is None:
        return Cell("")
    if row.lag.lost:
        return Cell("0", ERROR)
    return number_cell(row.lag.lead) if row.lag.lead is not None else no_value_cell(row.lag.reason)


def _seconds_unread(row: OffsetRow) -> int | None:
    """Return the age of the first unread record of a partition, in seconds; None if unknown.

    If the age is known only as a range, such as 10 to 20 s, return its upper end.
    """
    written = row.lag.times.unread if row.lag is not None and row.lag.lag and row.lag.times is not None else None
    return None if written is None else round(max(text.display_settings().now() - written.earliest, 0.0))


def _age(row: OffsetRow) -> Cell:
    seconds = _seconds_unread(row)
    if row.lag is None or not row.lag.lag:
        return Cell("")
    if seconds is None:
        return unknown_cell() if row.lag.times is not None else Cell("")
    # `exact_times` is None if kgtui has determined the age for an earlier committed offset. Since then, the group has
    # read more records. The record that is the first unread one now is younger, so show the age as an upper bound.
    return Cell(("" if row.lag.exact_times else text.marks().at_most) + duration(seconds))


def _full_age(row: OffsetRow) -> Cell:
    times = row.lag.times if row.lag is not None else None
    if times is None or times.unread is None:
        return Cell(times.reason if times is not None else "", MUTED)
    earliest, latest = (text.date_seconds(at) for at in times.unread)
    written = earliest if earliest == latest else f"between {earliest} and {latest}"
    return Cell(f"{_age(row).text}, first unread record written {written}")


def _expires_at(row: OffsetRow) -> int | None:
    times = row.lag.exact_times if row.lag is not None and row.lag.lag else None
    return None if times is None or times.expires_at is None else round(times.expires_at)


def _expires(row: OffsetRow) -> Cell:
    at = _expires_at(row)
    if row.lag is None or row.lag.exact_times is None or not row.lag.lag:
        return Cell("")
    if at is not None:
        left = at - text.display_settings().now()
        role = ERROR if left <= Loss.SOON else WARN if left <= Loss.NEAR else ""
        return Cell(text.clock(at) if abs(left) < _DATE_SHOWN_AFTER else text.day_minutes(at), role)
    return Cell("any time", WARN) if row.lag.exact_times.any_time else unknown_cell()


def _full_expires(row: OffsetRow) -> Cell:
    times = row.lag.exact_times if row.lag is not None else None
    if times is not None and times.expires_at is not None:
        return Cell(f"the first unread record may expire from {text.date_seconds(times.expires_at)}")
    return Cell(times.expiry_reason if times is not None else "", MUTED)


def _owner(row: OffsetRow) -> Cell:
    return Cell("") if row.lag is None else optional_cell(row.owner)


def _full_owner(row: OffsetRow) -> Cell:
    if row.lag is None:
        return Cell("")
    return Cell(f"{row.owner} {row.member_id}") if row.owner else Cell("no owner", MUTED)


def _note_text(row: OffsetRow) -> str:
    if row.lost:
        return f"{text.exact(row.lost)} lost"
    return reason_text(row.lag.reason) if row.lag else ""


def _note(row: OffsetRow) -> Cell:
    note = _note_text(row)
    if row.lost:
        return Cell(f"{text.marks().fault} {note}", ERROR)
    role = {"forbidden": ERROR, "topic deleted": WARN, "no commit": MUTED, "pending": MUTED, "": ""}.get(note, WARN)
    return Cell(note, role)


def offsets_summary(rows: Sequence[OffsetRow], *, hidden: bool) -> list[PaneLine]:
    """Return the parts of the summary line above the table, such as the total lag and the number of partitions.

    If the lag of some partitions is unknown, there is one part for each reason. For example, `3 no leader` means that
    three partitions have no leader.

    Args:
        rows: one row per partition, without the rows that show the total of a topic.
        hidden: whether `rows` may lack partitions, because the user lacks the permission DESCRIBE on their topics.
    """
    summed = total(row.lag for row in rows if row.lag is not None)
    lag = text.lag(summed.lag, hidden or summed.lower_bound)
    parts: list[PaneLine] = [(Cell("lag ", MUTED), Cell(lag, ACCENT))]
    lost = sum(row.lost for row in rows)
    if lost:
        parts.append((Cell(f"{text.marks().fault} {counted(lost, 'record')} lost", ERROR),))
    unknown: dict[str, int] = {}
    for row in rows:
        if row.lag is not None and row.lag.reason:
            unknown[row.lag.reason] = unknown.get(row.lag.reason, 0) + 1
    quiet = unknown.pop("no commit", 0)
    parts += [(Cell(f"{text.exact(count)} {reason_text(reason)}", WARN),) for reason, count in unknown.items()]
    whole = f"{counted(len(rows), 'partition')} of {counted(len({row.topic for row in rows}), 'topic')}"
    parts.append((Cell(f"{whole} that you are allowed to see" if hidden else whole, MUTED),))
    if quiet:
        parts.append((Cell(f"{text.exact(quiet)} no commit", MUTED),))
    return parts
