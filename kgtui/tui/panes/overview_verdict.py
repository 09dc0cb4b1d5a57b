"""The first fields of the Overview pane: the verdict on a group, its reason, the affected members, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.access import HIDDEN
from kgtui.model.diagnosis import diagnose
from kgtui.model.health.wording import duration
from kgtui.model.judgment import Basis, GroupStatus
from kgtui.tui import text
from kgtui.tui.panes.base import single_line
from kgtui.tui.panes.cells import MUTED, WARN, Cell, Field, note, one_line_field
from kgtui.tui.panes.overview_health import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.snapshot import Snapshot

_STALE = 60.0  # If the data of a health verdict is older than this, in seconds, its age is shown.


def mark_and_role(status: str, *, problem: bool) -> tuple[str, str]:
    """Return the symbol and the color role of a verdict.

    Args:
        status: name of a `GroupStatus`.
        problem: whether the group has a problem. Otherwise, only the status OK has a symbol of its own.
    """
    if not problem and status != GroupStatus.OK.name:
        return text.marks().unknown, MUTED
    return text.verdict_mark(status), text.verdict_role(status)


def verdict_fields(snapshot: Snapshot, group: str) -> Iterator[Field]:
    """Return the fields of the verdict: `verdict`, `who` (who causes the problem), and `next` (what to do next).

    The last two are missing if they are not known.
    """
    diagnosis = diagnose(snapshot, group, time_text)
    judgment, health = diagnosis.judgment, snapshot.health.get(group)
    name = diagnosis.name
    mark, role = mark_and_role(judgment.status.name, problem=judgment.kind is not None)
    if health is not None and any(one.why == HIDDEN for one in health.undecided):
        # The user lacks permission to describe all topics. The verdict ignores the hidden topics, so it is followed by
        # a `?`.
        name, role = f"{name}?", MUTED if judgment.status is GroupStatus.OK else role
    cells = [Cell(f"{mark} {name}", role)]
    if since := judgment.since_text(time_text):
        cells.append(note(since, ""))
    cells.append(note(judgment.basis_text))
    if health is not None and judgment.basis is Basis.OBSERVED:
        seconds = snapshot.taken_at - (health.read_at or 0.0)
        if seconds > _STALE:
            cells.append(note(f"as of {duration(seconds)} ago", WARN))
    # If the verdict is pending, the field `undecided` of the Health section says what is missing.
    why = diagnosis.why if judgment.kind is not None else ""
    yield Field("verdict", (tuple(cells), (Cell(single_line(why)),)) if why else (tuple(cells),))
    if diagnosis.who:
        yield one_line_field("who", Cell(single_line(diagnosis.who)))
    if diagnosis.advice:
        yield one_line_field("next", Cell(single_line(diagnosis.advice)))
