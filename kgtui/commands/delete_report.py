"""What `kgtui delete` prints of a plan and of results: tables for people, one JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.actions.execute import requests_of
from kgtui.actions.plan import Allowed, loss_text, type_text, undo_text
from kgtui.model.rfc3339 import rfc3339
from kgtui.output.formats import VERSION
from kgtui.output.table import Column, table

if TYPE_CHECKING:
    from kgtui.actions.plan import Loss, Plan, Refused
    from kgtui.actions.results import GroupResult, Results
    from kgtui.actions.state_folder import StateFolder


def plan_table(made: Plan, *, requests: bool = False) -> str:
    """Allowed and refused apart; with `requests` also what would be sent, to which broker."""
    parts = []
    if made.allowed:
        rows = [
            (line.group, type_text(line.description), loss_text(line.loss), undo_text(line.loss))
            for line in made.allowed
        ]
        parts.append(table([Column("DELETE"), Column("TYPE"), Column("LOST WITH IT"), Column("UNDO")], rows))
    if made.allowed and requests:
        columns = [
            Column("WOULD SEND"),
            Column("TO BROKER", number=True),
            Column("GROUPS", number=True),
            Column("NAMES"),
        ]
        sent = [("DeleteGroups", str(broker), str(len(names)), ", ".join(names)) for broker, names in requests_of(made)]
        parts.append(table(columns, sent))
    if made.refused:
        refused = [(line.group, line.type or "?", line.reason) for line in made.refused]
        parts.append(table([Column("REFUSED"), Column("TYPE"), Column("WHY")], refused))
    return "\n".join(parts)


def results_table(results: Results, folder: StateFolder) -> str:
    """One line for each group."""
    rows = [
        (result.group, result.status.value, result.backup.name if result.backup else "-", result.reason)
        for result in results.by_group.values()
    ]
    if not rows:
        return ""
    backups = f"backups in {folder.backups}\n" if any(result.backup for result in results.by_group.values()) else ""
    shown = table([Column("GROUP"), Column("RESULT"), Column("BACKUP"), Column("WHAT TO KNOW")], rows)
    return f"\n{shown}{backups}"


def document(made: Plan, results: Results | None) -> dict[str, Any]:
    """The JSON: `results` is null for a dry run."""
    return {
        "version": VERSION,
        "made_at": rfc3339(made.made_at),
        "plan": [_line(line) for line in made.lines],
        "requests": [
            {"api": "DeleteGroups", "broker": broker, "groups": list(groups)} for broker, groups in requests_of(made)
        ],
        "results": None if results is None else [_result(result) for result in results.by_group.values()],
    }


def _line(line: Allowed | Refused) -> dict[str, Any]:
    allowed = isinstance(line, Allowed)
    return {
        "group": line.group,
        "type": line.type,
        "allowed": allowed,
        "reason": None if isinstance(line, Allowed) else line.reason,
        "loss": _loss(line.loss) if isinstance(line, Allowed) else None,
    }


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "topics": loss.topics,
        "partitions": loss.partitions,
        "positions": loss.positions,
        "last_commit": None if loss.last_commit is None else rfc3339(loss.last_commit),
        "undo": loss.undo.value,
        "not_restored": list(loss.not_restored),
    }


def _result(result: GroupResult) -> dict[str, Any]:
    return {
        "group": result.group,
        "result": result.status.value,
        "reason": result.reason or None,
        "verified": result.verified,
        "code": result.fault.code if result.fault else None,
        "name": result.fault.name if result.fault else None,
        "backup": str(result.backup) if result.backup else None,
        "audit_id": result.entry,
    }
