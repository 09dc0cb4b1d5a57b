"""One group and its surroundings at one moment, for an incident: a value, as JSON, as Markdown, as a private file.

Secrets are removed: values that brokers mark sensitive are never there, and in every text user names in URLs and what
follows a key such as `password=` are blanked.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from kgtui.model import command_line
from kgtui.model.assignment import assignment_of
from kgtui.model.explanation import faults_of
from kgtui.model.group import listing_of
from kgtui.model.group_types import kind_of
from kgtui.model.redaction import redact
from kgtui.output import machine
from kgtui.output.group import group_object
from kgtui.output.incident_markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kgtui.model.assignment import Assignment
    from kgtui.model.snapshot import Snapshot

Format = Literal["markdown", "json"]

MOST_NEIGHBOURS = 50
"""Groups on the same topics that are named; the rest are counted."""


def incident(snapshot: Snapshot, group: str, *, version: str, command_config: str | None = None) -> dict[str, Any]:
    """Everything that is known about the group, and what stands around it, as JSON values.

    Args:
        snapshot: what is on the screen.
        group: its id; it may be gone from the list and be known by its last description only.
        version: of this program.
        command_config: path of the client properties, for the equivalent command.
    """
    whole = _listed(snapshot, group)
    listing = whole.groups.get(group)
    kind = kind_of(listing.type, listing.protocol) if listing is not None else "consumer"
    line = command_line.describe(group, kind, snapshot.cluster.seeds, command_config=command_config)
    found = {
        "version": machine.VERSION,
        "tool": f"kgtui {version}",
        "taken_at": machine.rfc3339(snapshot.taken_at),
        "cluster": machine.cluster_object(snapshot.cluster),
        "brokers": _brokers(snapshot),
        "group": group_object(whole, group) if listing is not None else {"group": group},
        "listed": group in snapshot.groups,
        "state_since": _time(snapshot.state_since.get(group)),
        "read_at": {name: _time(at) for name, at in _read_at(snapshot, group).items()},
        "assignment": _assignment(snapshot, group),
        "neighbours": _neighbours(snapshot, group),
        "faults": [machine.fault_object(fault) | {"advice": fault.advice} for fault in faults_of(snapshot, group)],
        "command": line.text,
    }
    return dict(_map(found, redact))


def render(found: dict[str, Any], form: Format) -> bytes:
    """An incident as UTF-8 Markdown or JSON."""
    if form == "json":
        return machine.json_bytes(found)
    return markdown(found).encode("utf-8", "backslashreplace")


def write(folder: Path, found: dict[str, Any], form: Format) -> Path:
    """Write an incident into a new file of its own, readable by its owner only, and return its path. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    group = str(found["group"]["group"])
    moment = datetime.fromisoformat(str(found["taken_at"])).astimezone(UTC)
    stem = f"{file_stem(group)}-{moment:%Y%m%dT%H%M%SZ}"
    suffix = "md" if form == "markdown" else "json"
    data = render(found, form)
    number = 1
    while True:
        path = folder / (f"{stem}.{suffix}" if number == 1 else f"{stem}-{number}.{suffix}")
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with open(file, "wb") as stream:
            stream.write(data)
        return path


def file_stem(group: str) -> str:
    """A file name for a group whatever its id: what is plain of it, and a digest where that is not all of it."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", group[:200])[:60].strip("._-")
    if plain == group:
        return f"kgtui-{plain}"
    digest = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"kgtui-{plain}-{digest}" if plain else f"kgtui-{digest}"


def _listed(snapshot: Snapshot, group: str) -> Snapshot:
    """A snapshot in which a group that is gone from the list stands as it was last described."""
    reading = snapshot.details.get(group)
    if group in snapshot.groups or reading is None:
        return snapshot
    return replace(snapshot, groups={group: listing_of(reading.value)})


def _brokers(snapshot: Snapshot) -> list[dict[str, Any]]:
    return [
        {
            "id": node,
            "address": status.address,
            "answered_at": _time(status.answered_at),
            "took_ms": status.took_ms,
            "groups": status.groups,
            "failures": status.failures,
            "fault": machine.fault_object(status.fault) if status.fault is not None else None,
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


def _neighbours(snapshot: Snapshot, group: str) -> dict[str, Any] | None:
    """Other groups on the same topics, as far as the sweep has seen them; None when the group's topics are unknown."""
    summary, offsets = snapshot.summaries.get(group), snapshot.offsets.get(group)
    topics = set(summary.topics if summary is not None else ())
    if offsets is not None:
        topics.update(topic for topic, _ in offsets.value.partitions)
    if not topics:
        return None
    names = sorted(
        name for name, other in snapshot.summaries.items() if name != group and not topics.isdisjoint(other.topics)
    )
    rows = [{"group": name, "state": snapshot.state_of(name), "lag": snapshot.summaries[name].lag} for name in names]
    return {"count": len(names), "swept": [snapshot.swept, len(snapshot.groups)], "groups": rows[:MOST_NEIGHBOURS]}


def _time(at: float | None) -> str | None:
    return None if at is None else machine.rfc3339(at)


def _map(value: Any, change: Callable[[str], str]) -> Any:
    """The same values with every text changed; names of fields stay, names that clusters gave are changed too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _map(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_map(inner, change) for inner in value]
    return value
