"""An incident as Markdown: whatever ids a cluster has, each stays inside its code span and on its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kgtui.model.text import visible
from kgtui.output import marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ROWS = 1_000
"""Rows of one table that are written out; JSON has them all."""
MOST_CHARACTERS = 300
"""Characters of one value that are written out."""


def markdown(found: dict[str, Any]) -> str:
    """The incident as Markdown; see `kgtui.output.incident.incident`."""
    group = found["group"]
    parts = [
        f"# Group {code(group['group'])}",
        f"{found['tool']} · {found['taken_at']} · cluster {code(found['cluster']['id'])}",
        _facts(found),
        _section("Faults", _faults(found["faults"])),
        _section("Assignment", _assignment(found["assignment"])),
        _section("Members", _members(group.get("members"))),
        _section("Partitions", _partitions(group.get("partitions"))),
        _section("Config", _configs(group.get("configs"))),
        _section("Groups on the same topics", _neighbours(found["neighbours"])),
        _section("Brokers", _brokers(found["brokers"])),
        _section("With Kafka's tools", fenced(found["command"])),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def code(value: object) -> str:
    """A value as a code span that nothing in it can close; the mark for none when it is missing."""
    if value is None or value == "":
        return marks.NONE
    text = visible(str(value)[: MOST_CHARACTERS + 1])
    if len(str(value)) > MOST_CHARACTERS:
        text = visible(str(value)[:MOST_CHARACTERS]) + f"… ({len(str(value)):,} characters)"
    fence = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{space}{text}{space}{fence}"


def fenced(text: str) -> str:
    """A block of code that nothing in it can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    escaped = "\\|"
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    # A pipe ends the cell, even inside a code span.
    lines += [f"| {' | '.join(cell.replace('|', escaped) for cell in row)} |" for row in rows[:MOST_ROWS]]
    left = len(rows) - MOST_ROWS
    return "\n".join(lines) + (f"\n\nand {left:,} more, which the JSON export has" if left > 0 else "")


def _number(value: int | None, missing: str = marks.NO_ANSWER) -> str:
    return missing if value is None else f"{value:,}"


def _facts(found: dict[str, Any]) -> str:
    group = found["group"]
    lines = [] if found["listed"] else ["- **no longer listed**: deleted, or expired"]
    since = f" since {found['state_since']}" if found["state_since"] else ""
    lines.append(f"- state: {code(group.get('state'))}{since}")
    lines.append(f"- type: {code(group.get('type'))}, protocol {code(group.get('protocol'))}")
    lines.append(f"- coordinator: {_number(group.get('coordinator'))}")
    lines.append(f"- assignor: {code(group.get('assignor'))}")
    if group.get("group_epoch") is not None:
        lines.append(f"- epochs: group {group['group_epoch']}, assignment {_number(group['assignment_epoch'])}")
    lag, unknown = group.get("lag"), group.get("lag_unknown")
    said = _number(lag) if not unknown or lag is None else f"at least {lag:,}"
    lines.append(f"- lag: {said}{f', {unknown:,} partitions unknown' if unknown else ''}")
    operations = group.get("authorized_operations")
    lines.append(f"- this user may: {'not told' if operations is None else ', '.join(operations) or 'nothing'}")
    lines.append(f"- described by: {code(group.get('described_by'))}")
    for what, at in found["read_at"].items():
        lines.append(f"- {what} read: {at or 'never'}")
    return "\n".join(lines)


def _faults(faults: Iterable[dict[str, Any]]) -> str:
    lines = []
    for fault in faults:
        where = f" (broker {fault['broker']})" if fault["broker"] is not None else ""
        advice = f" Next: {code(_line(fault['advice']))}" if fault["advice"] else ""
        lines.append(f"- {code(fault['name'])}{where}: {code(_line(fault['message']))}{advice}")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _assignment(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    lines = [f"{found['items']:,} assigned or expected, {len(found['unsettled']):,} not settled"]
    skew = [f"{by} {ratio:.2f}" for by, ratio in found["skew"].items() if ratio is not None]
    if skew:
        lines.append(f"skew (heaviest over an even share): {', '.join(skew)}")
    for one in found["blockers"]:
        behind = "left, its place is kept" if one["epochs_behind"] is None else f"{one['epochs_behind']} epochs behind"
        lines.append(f"held up by {code(one['member_id'])}: gives up {one['gives_up']}, {behind}")
    if found["idle"]:
        lines.append(f"idle: {', '.join(code(member) for member in found['idle'][:20])}")
    rows = [
        [code(one["name"]), _number(one["number"], marks.NONE), code(one["role"]), one["status"],
         _codes(one["owners"]), _codes(one["targets"] or ()), _codes(one["waits_for"])]
        for one in found["unsettled"]
    ]  # fmt: skip
    whole = _table(("name", "number", "role", "status", "owner", "target", "waits for"), rows)
    return "\n".join(f"- {line}" for line in lines) + (f"\n\n{whole}" if whole else "")


def _codes(values: Iterable[str]) -> str:
    return ", ".join(code(value) for value in values) or marks.NONE


def _members(members: Sequence[dict[str, Any]] | None) -> str:
    if members is None:
        return "not told"
    rows = [
        [code(one["member_id"]), code(one["instance_id"]), code(one["client_id"]), code(one["host"]),
         code(one["rack"]), _number(one["epoch"], marks.NONE), code(one["protocol"]), _number(one["assigned"])]
        for one in members
    ]  # fmt: skip
    titles = ("member", "instance", "client", "host", "rack", "epoch", "protocol", "assigned")
    return _table(titles, rows) or "none"


def _partitions(partitions: Sequence[dict[str, Any]] | None) -> str:
    if partitions is None:
        return "not read"
    rows = []
    for one in partitions:
        position = one["committed"] if one["start_offset"] is None else one["start_offset"]
        missing = marks.NONE if one["reason"] == "no commit" else marks.NO_ANSWER
        lost = f"{one['lost']:,} lost" if one["lost"] else ""
        rows.append(
            [code(one["topic"]), str(one["partition"]), _number(position, missing), _number(one["log_start"]),
             _number(one["log_end"]), _number(one["lag"], missing), lost or one["reason"] or "", code(one["member_id"])]
        )  # fmt: skip
    titles = ("topic", "partition", "position", "log start", "log end", "lag", "note", "owner")
    return _table(titles, rows) or "no offsets"


def _configs(configs: Sequence[dict[str, Any]] | None) -> str:
    rows = [
        [code(one["name"]), "hidden" if one["sensitive"] else code(one["value"]), code(one["source"])]
        for one in configs or ()
    ]
    return _table(("name", "value", "source"), rows)


def _neighbours(found: dict[str, Any] | None) -> str:
    if found is None or not found["count"]:
        return ""
    rows = [[code(one["group"]), code(one["state"]), _number(one["lag"])] for one in found["groups"]]
    swept, every = found["swept"]
    return f"{found['count']:,}, of {swept:,} of {every:,} groups looked at\n\n" + _table(
        ("group", "state", "lag"), rows
    )


def _brokers(brokers: Sequence[dict[str, Any]]) -> str:
    rows = [
        [str(one["id"]), code(one["address"]), one["answered_at"] or "never",
         marks.NONE if one["took_ms"] is None else f"{one['took_ms']:.0f} ms",
         code(_line(one["fault"]["message"])) if one["fault"] else "fine"]
        for one in brokers
    ]  # fmt: skip
    return _table(("broker", "address", "answered", "took", "how it is"), rows)
