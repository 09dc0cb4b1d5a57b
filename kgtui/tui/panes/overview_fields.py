"""What the Overview says of a group: sections of fields, made from a snapshot alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgtui.model import command_line, facts
from kgtui.model.explanation import faults_of
from kgtui.model.group import REBALANCING
from kgtui.model.offsets import lags
from kgtui.tui import text
from kgtui.tui.panes.cells import (
    ACCENT,
    ERROR,
    MUTED,
    OK,
    WARN,
    Cell,
    Field,
    Section,
    Shown,
    field,
    fitted,
    none,
    number,
    optional,
    some,
    unknown,
)
from kgtui.tui.panes.notices import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.series import Series, SeriesStore
    from kgtui.model.snapshot import Snapshot

LONGEST_ID = 400
"""Characters of a group id that the Overview writes out; the rest is cut in the middle."""


def sections(
    snapshot: Snapshot, group: str, *, command_config: str | None = None, series: SeriesStore | None = None
) -> list[Section]:
    """Everything the Overview says, in its order. `series` adds the trend of the lag."""
    parts = [
        Section("", tuple(_identity(snapshot, group))),
        Section("Lag", tuple(_lag(snapshot, group, series))),
        Section("You may", (_operations(snapshot, group),)),
        Section("If deleted", tuple(_loss(snapshot, group))),
        Section("With Kafka's tools", tuple(_command(snapshot, group, command_config))),
    ]
    found = faults_of(snapshot, group)
    if found:
        parts.insert(1, Section("Faults", tuple(_fault(fault) for fault in found)))
    return parts


def _description(snapshot: Snapshot, group: str) -> GroupDescription | None:
    reading = snapshot.details.get(group)
    return reading.value if reading is not None else None


def _identity(snapshot: Snapshot, group: str) -> Iterator[Field]:
    described = _description(snapshot, group)
    listing = snapshot.groups.get(group)
    kind = described.kind if described else listing.kind if listing else None
    yield field("group", Cell(fitted(group, LONGEST_ID, cut="middle"), ACCENT))
    group_type = described.type if described else facts.type_of(snapshot, group)
    protocol = described.protocol if described else listing.protocol if listing else None
    yield field("type", Cell(group_type) if group_type else unknown(), *_protocol(group_type, protocol, kind))
    yield Field("state", (tuple(_state(snapshot, group)),))
    yield _coordinator(snapshot, described.coordinator if described else listing.coordinator if listing else None)
    if described is None:
        return
    yield field("described by", optional(described.source))
    yield field("assignor", optional(described.assignor))
    if described.group_epoch is not None:
        yield _epochs(described)
    yield _members(described.members)


def _protocol(group_type: str | None, protocol: str | None, kind: str | None) -> Iterator[Cell]:
    if kind == "simple":
        yield Cell("  no protocol: offsets committed by hand", MUTED)
    elif protocol and protocol != group_type:
        yield Cell("  protocol ", MUTED)
        yield Cell(protocol)


def _state(snapshot: Snapshot, group: str) -> Iterator[Cell]:
    described = _description(snapshot, group)
    state = snapshot.state_of(group) or (described.state if described else None)
    if state is None:
        yield unknown()
        return
    yield Cell(f"{text.state_mark(state)} {state}", text.state_role(state))
    since = snapshot.state_since.get(group)
    if since is not None:
        yield Cell(f"  for {text.ago(since)}, since {text.clock(since)}", MUTED)
    else:
        yield Cell("  since before we looked", MUTED)
    if described is not None and not described.authoritative:
        yield Cell("  (this broker cannot tell Dead from gone)", WARN)


def _coordinator(snapshot: Snapshot, node: int | None) -> Field:
    if node is None:
        return field("coordinator", unknown())
    broker = snapshot.cluster.brokers.get(node)
    cells = [Cell(f"broker {node}")]
    if broker is not None:
        cells.append(Cell(f"  {broker.address}", MUTED))
        if broker.rack:
            cells.append(Cell(f"  rack {broker.rack}", MUTED))
    status = snapshot.brokers.get(node)
    if status is not None and status.fault is not None:
        cells.append(Cell("  does not answer", ERROR))
    return field("coordinator", *cells)


def _epochs(described: GroupDescription) -> Field:
    cells = [Cell("group "), number(described.group_epoch), Cell("  assignment "), number(described.assignment_epoch)]
    if described.assignment_epoch is not None and described.group_epoch != described.assignment_epoch:
        said = "the target assignment is being computed" if described.members else "nobody to assign to"
        cells.append(Cell(f"  {said}", WARN if described.members else MUTED))
    behind = [m for m in described.members or () if m.epoch is not None and m.epoch < (described.assignment_epoch or 0)]
    if behind:
        cells.append(Cell(f"  {some(len(behind), 'member')} behind", WARN))
    return field("epochs", *cells)


def _members(members: tuple[Member, ...] | None) -> Field:
    if members is None:
        return field("members", unknown(), Cell("  withheld by the broker", WARN))
    cells = [number(len(members))]
    hosts = {member.host for member in members}
    if members:
        cells.append(Cell(f"  on {some(len(hosts), 'host')}", MUTED))
    static = sum(1 for member in members if member.instance_id)
    if static:
        cells.append(Cell(f"  {static} static", MUTED))
    classic = sum(1 for member in members if member.protocol == "classic")
    if classic and classic < len(members):
        cells.append(Cell(f"  {classic} still on the classic protocol", WARN))
    return field("members", *cells)


def _lag(snapshot: Snapshot, group: str, series: SeriesStore | None) -> Iterator[Field]:
    total = facts.lag_total(snapshot, group)
    if total is None:
        yield field("total", *_missing(snapshot, group))
        return
    cells = [Cell(text.lag(total.lag, total.unknown))]
    if total.lag is not None and total.lag >= 1000:
        cells.append(Cell(f"  {text.exact(total.lag)} records", MUTED))
    if total.unknown:
        cells.append(Cell(f"  {some(total.unknown, 'partition')} unknown", WARN))
    yield field("total", *cells)
    yield from _trend(series.get(group) if series is not None else None)
    reading = snapshot.offsets.get(group)
    if reading is None:
        yield field("partitions", number(total.partitions))
        return
    rows = lags(reading.value)
    yield field("partitions", number(len(rows)), Cell(f"  of {some(len({row.topic for row in rows}), 'topic')}", MUTED))
    worst = max((row for row in rows if row.lag), key=lambda row: row.lag or 0, default=None)
    if worst is not None:
        yield field("worst", Cell(f"{worst.topic}-{worst.partition}"), Cell(f"  {text.exact(worst.lag)}", MUTED))
    lost = [row for row in rows if row.lost]
    if lost:
        records = sum(row.lost or 0 for row in lost)
        yield field("lost", Cell(f"{text.exact(records)} records", ERROR), Cell(
            f"  expired unread in {some(len(lost), 'partition')}", MUTED))  # fmt: skip


TREND_WINDOW = 60.0
"""Seconds over which the trend of the lag is taken."""


def _trend(series: Series | None) -> Iterator[Field]:
    """How the lag changes, and when it would be gone at that rate."""
    rate = series.lag_trend(TREND_WINDOW) if series is not None else None
    if series is None or rate is None:
        return
    span = min(TREND_WINDOW, series.times[-1] - series.times[0])
    over = Cell(f"  over the last {text.age(span)}", MUTED)
    if abs(rate) < 0.05:
        yield field("trend", Cell("steady"), over)
        return
    cells = [Cell(f"{'grows' if rate > 0 else 'falls'} by {abs(rate):,.1f} a second", WARN if rate > 0 else OK), over]
    known = [lag for lag in series.lag if not math.isnan(lag)]
    if rate < 0 and known[-1] > 0:
        cells.append(Cell(f"  gone in about {text.age(known[-1] / -rate)}", MUTED))
    yield field("trend", *cells)


def _missing(snapshot: Snapshot, group: str) -> tuple[Cell, ...]:
    """Why something is not there: forbidden, failed, or not read yet."""
    found = faults_of(snapshot, group)
    if any(fault.name.endswith("AUTHORIZATION_FAILED") for fault in found):
        return Cell(text.marks().forbidden, ERROR), Cell("  forbidden", ERROR)
    return unknown(), Cell("  could not be read" if found else "  not read yet", MUTED)


def _operations(snapshot: Snapshot, group: str) -> Field:
    described = _description(snapshot, group)
    if described is None:
        return field("", *_missing(snapshot, group))
    if described.operations is None:
        return field("", unknown(), Cell("  not told by this broker", MUTED))
    if not described.operations:
        return field("", Cell("none", WARN))
    cells = [Cell(name.lower(), OK if name == "DELETE" else "") for name in sorted(described.operations)]
    spaced = [part for cell in cells for part in (cell, Cell("  "))]
    if not {"DELETE", "ALL"} & {name.upper() for name in described.operations}:
        spaced.append(Cell("no delete", WARN))
    return field("", *spaced)


def _loss(snapshot: Snapshot, group: str) -> Iterator[Field]:
    described = _description(snapshot, group)
    reading = snapshot.offsets.get(group)
    state = snapshot.state_of(group)
    if reading is None:
        yield field("offsets", *_missing(snapshot, group))
    else:
        rows = [row for row in lags(reading.value) if row.position is not None]
        topics = len({row.topic for row in rows})
        what = "start offsets" if reading.value.share else "committed offsets"
        if rows:
            yield field("offsets", number(len(rows)), Cell(f"  {what} in {some(topics, 'topic')}", MUTED))
            yield field("positions", number(sum(row.position or 0 for row in rows)), Cell("  summed", MUTED))
        else:
            yield field("offsets", none(), Cell("  nothing is committed", MUTED))
    if state in REBALANCING or (described is not None and described.members):
        yield field("now", Cell("refused by the broker while it has members", MUTED))


def _command(snapshot: Snapshot, group: str, command_config: str | None) -> Iterator[Field]:
    described = _description(snapshot, group)
    listing = snapshot.groups.get(group)
    kind = described.kind if described else listing.kind if listing else "consumer"
    line = command_line.describe(group, kind, snapshot.cluster.seeds, view="state", command_config=command_config)
    yield Field("", ((Cell(fitted(Shown(line.text), 4 * LONGEST_ID, cut="middle")),),))
    if line.note:
        yield Field("", ((Cell(f"({line.note})", MUTED),),))


def _fault(fault: Fault) -> Field:
    lines: list[tuple[Cell, ...]] = [
        (Cell(f"{text.marks().fault} {fault.name}", ERROR), Cell(f"  {one_line(fault.message)}"))
    ]
    if fault.advice:
        lines.append((Cell(one_line(fault.advice), MUTED),))
    return Field("", tuple(lines))
