"""Which lake a screen reads, and what its tables say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kgtui.errors import KgtuiError, LakeError
from kgtui.lake.folder import LAKE_VARIABLE, LakeFolder
from kgtui.tui.recording import default_folder

if TYPE_CHECKING:
    from kgtui.insights.finding import Insights
    from kgtui.lake.gold import Gold
    from kgtui.tui.session import Session


class Which(NamedTuple):
    """The lake that is meant.

    Attributes:
        path: its folder, whether it is there or not.
        why: what makes it this one, in a few words.
        named: somebody named it; otherwise it is where `R` would record to.
    """

    path: Path
    why: str
    named: bool = True


def lake_of(session: Session) -> Which:
    """The lake of a session: the one replayed, the one being recorded, the one named, else where `R` records to."""
    if session.lake is not None:
        return Which(session.lake, "the recording on the screen")
    if session.recording is not None:
        return Which(session.recording.path, "being recorded now")
    named = os.environ.get(LAKE_VARIABLE, "").strip()
    if named:
        return Which(Path(named).expanduser(), f"named by {LAKE_VARIABLE}")
    return Which(default_folder(session), "where R records to", named=False)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What a lake's gold tables said.

    Attributes:
        gold: to read more of; None when it is no lake.
        insights: None when there are none.
        cluster: id of the cluster that was recorded; None when that is not known.
        trouble: why there are no insights.
        recorded: whether there is a lake, if only without such tables.
    """

    gold: Gold | None = None
    insights: Insights | None = None
    cluster: str | None = None
    trouble: str = ""
    recorded: bool = False


def read_findings(path: Path) -> Read:
    """Read a lake's findings from disk, which may take seconds; what stands against it is told, not raised."""
    from kgtui.insights.reader import find_insights
    from kgtui.lake.gold import Gold
    from kgtui.lake.tables import recorded_cluster_id

    gold = None
    try:
        gold = Gold(path)
        found = find_insights(gold)
    except (KgtuiError, OSError) as error:
        return Read(gold, trouble=str(error), recorded=gold is not None)
    return Read(gold, found, recorded_cluster_id(path), recorded=True)


def span_of(path: str) -> tuple[float, float]:
    """The first and last moment of a recording, in seconds since the epoch. Reads from disk; raises `LakeError`."""
    from kgtui.history.recording_reader import RecordingReader

    try:
        lake = RecordingReader(path)
    except OSError as error:
        raise LakeError(f"{path} cannot be read: {error.strerror or error}") from error
    return lake.first.at, lake.last.at


def is_lake(path: Path) -> bool:
    """Whether a folder is a lake that can be read. Looks at the disk."""
    try:
        LakeFolder.of(path).check()
    except (LakeError, OSError):
        return False
    return True
