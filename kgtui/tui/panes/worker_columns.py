"""The columns of Connect workers and of schema registry nodes."""

from __future__ import annotations

from kgtui.model.members import ConnectWorker, RegistryNode
from kgtui.tui.panes.cells import ACCENT, ERROR, MUTED, WARN, Cell, none, number, optional, unknown
from kgtui.tui.panes.columns import Column
from kgtui.tui.panes.member_rows import MemberRow, placed

Columns = list[Column[MemberRow]]


def worker_columns() -> Columns:
    """URL, leader, connectors and tasks of a Connect worker."""
    return [
        Column("url", "WORKER", lambda row: _worker(row).url, least=26, most=44),
        Column("leads", "LEADS", lambda row: _leads(_worker(row).leader).text, lambda row: _leads(_worker(row).leader),
               rank=1, least=6),
        Column("connectors", "CONNECTORS", lambda row: len(_worker(row).connectors), right=True, whole=_connectors),
        Column("tasks", "TASKS", _tasks, right=True, whole=lambda row: optional(placed(_worker(row).tasks))),
        Column("work", "RUNS", _runs, lambda row: optional(_runs(row)), rank=3, least=16, most=48, whole=_nothing),
        Column("revoked", "REVOKED", _revoked, lambda row: Cell(_revoked(row) or "", WARN), rank=2, most=20),
        Column("delay", "DELAY MS", lambda row: _worker(row).delay_ms, lambda row: number(_worker(row).delay_ms),
               rank=6, right=True),
        Column("error", "ERROR", lambda row: _worker(row).error, lambda row: _error(_worker(row).error), rank=6,
               right=True),
    ]  # fmt: skip


def node_columns() -> Columns:
    """URL, leader and eligibility of a registry node."""
    return [
        Column("url", "NODE", lambda row: _node(row).url, least=16, most=44),
        Column("leads", "LEADS", lambda row: _leads(_node(row).leader).text, lambda row: _leads(_node(row).leader),
               least=6),
        Column("eligible", "ELIGIBLE", lambda row: _eligible(row).text, _eligible, rank=1, least=8),
        Column("error", "ERROR", lambda row: _node(row).error, lambda row: _error(_node(row).error), rank=6,
               right=True),
    ]  # fmt: skip


def _worker(row: MemberRow) -> ConnectWorker:
    return row.member.connect or ConnectWorker(url="")


def _node(row: MemberRow) -> RegistryNode:
    return row.member.registry or RegistryNode(url="")


def _leads(told: bool | None) -> Cell:
    if told is None:
        return unknown()
    return Cell("leader", ACCENT) if told else none()


def _error(code: int) -> Cell:
    return Cell(str(code), ERROR) if code else none()


def _nothing(_row: MemberRow) -> Cell:
    return Cell("")


def _connectors(row: MemberRow) -> Cell:
    return optional(", ".join(_worker(row).connectors))


def _tasks(row: MemberRow) -> int:
    return sum(len(tasks) for _, tasks in _worker(row).tasks)


def _runs(row: MemberRow) -> str:
    return " ".join((*_worker(row).connectors, placed(_worker(row).tasks))).strip()


def _revoked(row: MemberRow) -> str | None:
    return ", ".join(_worker(row).revoked) or None


def _eligible(row: MemberRow) -> Cell:
    eligible = _node(row).eligible
    return unknown() if eligible is None else Cell("yes" if eligible else "no", "" if eligible else MUTED)
