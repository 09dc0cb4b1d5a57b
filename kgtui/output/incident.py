"""Exports data about one group for an incident report, as JSON or Markdown.

Secrets are removed: values of sensitive configs, user names in URLs, and values of keys such as `password`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgtui.model import command_line
from kgtui.model.access import HIDDEN, NONE_VISIBLE
from kgtui.model.assignment import assignment_of
from kgtui.model.explanation import faults_of
from kgtui.model.facts import first_seen, last_progress
from kgtui.model.fields import Missing
from kgtui.model.fields.group_fields import group_object
from kgtui.model.fields.member_fields import MARKDOWN_COLUMNS
from kgtui.model.group import listing_of
from kgtui.model.group_types import kind_of
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import rfc3339, rfc3339_or_none
from kgtui.model.text import redact, visible
from kgtui.output import formats, marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kgtui.model.assignment import Assignment
    from kgtui.model.fields.member_fields import MemberField
    from kgtui.model.snapshot import Snapshot

MAX_NEIGHBORS = 50
"""Maximum number of groups in an incident export that have a topic in common with the exported group."""
MAX_ROWS = 1_000
"""Maximum number of rows in a Markdown table. Further rows are left out; the JSON export has all rows."""
MAX_CHARACTERS = 300
"""Maximum length of a value in Markdown, in characters. A longer value is cut off."""


def incident(snapshot: Snapshot, group: str, *, version: str, command_config: str | None = None) -> dict[str, Any]:
    """Return the incident export of a group as a dict that can be encoded as JSON.

    Args:
        group: group id. If the brokers no longer list the group, its last known description is exported.
        command_config: path of a file with client properties, for the option `--command-config` in the exported
            command line of Kafka's tools; None to leave out the option.
    """
    whole = _listed(snapshot, group)
    listing = whole.groups.get(group)
    kind = kind_of(listing.type, listing.protocol) if listing is not None else "consumer"
    line = command_line.describe(group, kind, snapshot.cluster.seeds, command_config=command_config)
    found = {
        "version": formats.VERSION,
        "tool": f"kgtui {version}",
        "taken_at": rfc3339(snapshot.taken_at),
        "cluster": formats.cluster_object(snapshot.cluster),
        "brokers": _brokers(snapshot),
        "group": group_object(whole, group) if listing is not None else {"group": group},
        "listed": group in snapshot.groups,
        "first_seen": rfc3339_or_none(first_seen(snapshot, group)),
        "state_since": rfc3339_or_none(snapshot.state_since.get(group)),
        "last_progress": rfc3339_or_none(last_progress(snapshot, group)),
        "read_at": {name: rfc3339_or_none(at) for name, at in _read_at(snapshot, group).items()},
        "assignment": _assignment(snapshot, group),
        "neighbours": _neighbors(snapshot, group),
        "faults": [formats.fault_object(fault) | {"advice": fault.advice} for fault in faults_of(snapshot, group)],
        "command": line.text,
    }
    return dict(_map_texts(found, redact))


def _listed(snapshot: Snapshot, group: str) -> Snapshot:
    """Return a snapshot that contains the group in `groups`, even if the brokers no longer list the group.

    If the brokers no longer list the group, it is the only entry of `groups` in the result, with its last known type
    and state. If the description of such a group was never read, the snapshot is returned unchanged.
    """
    reading = snapshot.details.get(group)
    if group in snapshot.groups or reading is None:
        return snapshot
    return replace(snapshot, groups={group: listing_of(reading.value)})


def _brokers(snapshot: Snapshot) -> list[dict[str, Any]]:
    return [
        {
            "id": node,
            "address": status.address,
            "answered_at": rfc3339_or_none(status.answered_at),
            "took_ms": status.took_ms,
            "groups": status.groups,
            "failures": status.failures,
            "fault": formats.fault_object(status.fault) if status.fault is not None else None,
        }
        for node, status in sorted(snapshot.brokers.items())
    ]


def _read_at(snapshot: Snapshot, group: str) -> dict[str, float | None]:
    details, offsets, configs = snapshot.details.get(group), snapshot.offsets.get(group), snapshot.configs.get(group)
    return {
        "description": None if details is None else details.at,
        "offsets": None if offsets is None else offsets.at,
        "configs": None if configs is None else configs.at,
    }


def _assignment(snapshot: Snapshot, group: str) -> dict[str, Any] | None:
    details, offsets = snapshot.details.get(group), snapshot.offsets.get(group)
    found = assignment_of(details.value, offsets.value if offsets is not None else None) if details else None
    return None if found is None else _assignment_object(found)


def _assignment_object(found: Assignment) -> dict[str, Any]:
    unsettled = [one for one in found.placements if one.status.name != "SETTLED"]
    return {
        "items": len(found.placements),
        "unsettled": [
            {
                "name": one.item.name,
                "number": None if one.item.number < 0 else one.item.number,
                "role": one.item.role or None,
                "status": one.status.value,
                "owners": list(one.owners),
                "targets": None if one.targets is None else list(one.targets),
                "waits_for": list(one.waits_for),
            }
            for one in unsettled
        ],
        "blockers": [
            {"member_id": one.member_id, "gives_up": one.gives_up, "waiting": one.waiting, "epochs_behind": one.behind}
            for one in found.blockers
        ],
        "idle": list(found.idle),
        "skew": {skew.by: skew.ratio for skew in found.skews},
    }


def _neighbors(snapshot: Snapshot, group: str) -> dict[str, Any] | None:
    """Return the groups that have a topic in common with a group; None if the topics of the group are unknown.

    The result contains at most `MAX_NEIGHBORS` of these groups in the list `groups`, and their total number as `count`.
    `swept` contains two numbers: how many groups kgtui has read at least once in the background, and how many exist.
    """
    summary, offsets = snapshot.summaries.get(group), snapshot.offsets.get(group)
    topics = set(summary.topics or () if summary is not None else ())
    if offsets is not None:
        topics.update(topic for topic, _ in offsets.value.partitions)
    if not topics:
        return None
    names = sorted(
        name
        for name, other in snapshot.summaries.items()
        if name != group and not topics.isdisjoint(other.topics or ())
    )
    rows = [{"group": name, "state": snapshot.state_of(name), "lag": snapshot.summaries[name].lag} for name in names]
    return {"count": len(names), "swept": [snapshot.swept, len(snapshot.groups)], "groups": rows[:MAX_NEIGHBORS]}


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of nested JSON values in which every string `s`, also in keys, is replaced with `change(s)`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _map_texts(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(inner, change) for inner in value]
    return value


def markdown(found: dict[str, Any]) -> str:
    """Format an incident export as Markdown. Ids are escaped, so that they are not interpreted as Markdown syntax."""
    group = found["group"]
    parts = [
        f"# Group {code(group['group'])}",
        f"{found['tool']} · {found['taken_at']} · cluster {code(found['cluster']['id'])}",
        _facts_section(found),
        _section("Faults", _faults_section(found["faults"])),
        _section("Assignment", _assignment_section(found["assignment"])),
        _section("Members", _members_section(group.get("members"))),
        _section("Partitions", _partitions_section(group.get("partitions"), found["faults"])),
        _section("Config", _configs_section(group.get("configs"))),
        _section("Groups on the same topics", _neighbors_section(found["neighbours"])),
        _section("Brokers", _brokers_section(found["brokers"])),
        _section("With Kafka's tools", fenced(found["command"])),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def code(value: object) -> str:
    """Format a value as a Markdown code span. None and an empty text become `–`; a long value is cut off."""
    if value is None or value == "":
        return marks.NONE
    text = visible(str(value)[: MAX_CHARACTERS + 1])
    if len(str(value)) > MAX_CHARACTERS:
        text = visible(str(value)[:MAX_CHARACTERS]) + f"… ({len(str(value)):,} characters)"
    fence = "`" * (_longest_run(text) + 1)
    space = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{space}{text}{space}{fence}"


def fenced(text: str) -> str:
    """Format a text as a Markdown code block. Its fences are longer than the longest run of backticks in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    escaped = "\\|"
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    # An unescaped pipe would end the cell of the Markdown table, even inside a code span.
    lines += [f"| {' | '.join(cell.replace('|', escaped) for cell in row)} |" for row in rows[:MAX_ROWS]]
    left = len(rows) - MAX_ROWS
    return "\n".join(lines) + (
        f"\n\n{counted(left, 'more row')} {'is' if left == 1 else 'are'} in the JSON export" if left > 0 else ""
    )


def _number(value: int | None, missing: str = marks.NO_ANSWER) -> str:
    return missing if value is None else f"{value:,}"


def _facts_section(found: dict[str, Any]) -> str:
    group = found["group"]
    lines = [] if found["listed"] else ["- **no longer listed**: deleted or expired"]
    since = f" since {found['state_since']}" if found["state_since"] else ""
    lines.append(f"- state: {code(group.get('state'))}{since}")
    lines.append(f"- type: {code(group.get('type'))}, protocol {code(group.get('protocol'))}")
    lines.append(f"- coordinator: {_number(group.get('coordinator'))}")
    lines.append(f"- assignor: {code(group.get('assignor'))}")
    if group.get("group_epoch") is not None:
        lines.append(f"- epochs: group {group['group_epoch']}, assignment {_number(group['assignment_epoch'])}")
    lag, unknown = group.get("lag"), group.get("lag_unknown")
    lower_bound = unknown or group.get("offsets_may_be_hidden")
    lag_text = _number(lag) if not lower_bound or lag is None else f"at least {lag:,}"
    unknown_text = f", unknown for {counted(unknown, 'partition')}" if unknown else ""
    lines.append(f"- lag: {lag_text}{unknown_text}")
    operations = group.get("authorized_operations")
    lines.append(
        f"- permissions of this user: {'not reported' if operations is None else ', '.join(operations) or 'none'}"
    )
    lines.append(f"- described by: {code(group.get('described_by'))}")
    for what, at in found["read_at"].items():
        lines.append(f"- {what} read: {at}" if at else f"- {what}: not read")
    return "\n".join(lines)


def _faults_section(faults: Iterable[dict[str, Any]]) -> str:
    lines = []
    for fault in faults:
        where = f" (broker {fault['broker']})" if fault["broker"] is not None else ""
        advice = f" Next: {code(_on_one_line(fault['advice']))}" if fault["advice"] else ""
        lines.append(f"- {code(fault['name'])}{where}: {code(_on_one_line(fault['message']))}{advice}")
    return "\n".join(lines)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _assignment_section(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    lines = [f"{found['items']:,} partitions or tasks, {len(found['unsettled']):,} of them without a stable owner"]
    skew = [f"{by} {ratio:.2f}" for by, ratio in found["skew"].items() if ratio is not None]
    if skew:
        lines.append(f"skew (largest number per member divided by the average): {', '.join(skew)}")
    for one in found["blockers"]:
        epochs = one["epochs_behind"]
        why = "the static member has left temporarily" if epochs is None else f"{epochs} epochs behind"
        member, items = code(one["member_id"]), one["gives_up"]
        lines.append(f"waiting for {member}, which must revoke {items} of its partitions or tasks; {why}")
    if found["idle"]:
        lines.append(f"idle members: {', '.join(code(member) for member in found['idle'][:20])}")
    rows = [
        [code(one["name"]), _number(one["number"], marks.NONE), code(one["role"]), one["status"],
         _codes(one["owners"]), _codes(one["targets"] or ()), _codes(one["waits_for"])]
        for one in found["unsettled"]
    ]  # fmt: skip
    whole = _markdown_table(("name", "number", "role", "status", "owner", "target", "waits for"), rows)
    return "\n".join(f"- {line}" for line in lines) + (f"\n\n{whole}" if whole else "")


def _codes(values: Iterable[str]) -> str:
    return ", ".join(code(value) for value in values) or marks.NONE


def _members_section(members: Sequence[dict[str, Any]] | None) -> str:
    if members is None:
        return "not reported"
    rows = [[_cell(field, one[field.name]) for field in MARKDOWN_COLUMNS] for one in members]
    return _markdown_table([field.title.lower() for field in MARKDOWN_COLUMNS], rows) or "none"


def _cell(field: MemberField, value: Any) -> str:
    if field.align == "left":
        return code(value)
    return _number(value, marks.NONE if field.missing is Missing.NONE else marks.NO_ANSWER)


def _partitions_section(partitions: Sequence[dict[str, Any]] | None, faults: Sequence[dict[str, Any]]) -> str:
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
    hidden = any(fault["name"] == HIDDEN for fault in faults)
    return _markdown_table(titles, rows) or (NONE_VISIBLE if hidden else "no offsets")


def _configs_section(configs: Sequence[dict[str, Any]] | None) -> str:
    rows = [
        [code(one["name"]), "hidden" if one["sensitive"] else code(one["value"]), code(one["source"])]
        for one in configs or ()
    ]
    return _markdown_table(("name", "value", "source"), rows)


def _neighbors_section(found: dict[str, Any] | None) -> str:
    if found is None or not found["count"]:
        return ""
    rows = [[code(one["group"]), code(one["state"]), _number(one["lag"])] for one in found["groups"]]
    swept, every = found["swept"]
    count = f"{counted(found['count'], 'group')}. kgtui has read {swept:,} of the {every:,} groups in the cluster."
    return f"{count}\n\n{_markdown_table(('group', 'state', 'lag'), rows)}"


def _brokers_section(brokers: Sequence[dict[str, Any]]) -> str:
    rows = [
        [str(one["id"]), code(one["address"]), one["answered_at"] or "never",
         marks.NONE if one["took_ms"] is None else f"{one['took_ms']:.0f} ms",
         code(_on_one_line(one["fault"]["message"])) if one["fault"] else "OK"]
        for one in brokers
    ]  # fmt: skip
    return _markdown_table(("broker", "address", "answered", "took", "status"), rows)
