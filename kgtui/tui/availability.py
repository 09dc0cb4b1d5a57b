"""Why an action cannot be done right now: one function for keys, footer and palette, so that they never disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.guard import READ_ONLY, delete_availability
from kgtui.tui import text
from kgtui.tui.keys import BY_ID
from kgtui.tui.recording import cannot_look_back, cannot_record, missing

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Session

_ABOUT_A_GROUP = frozenset({
    "copy", "copy-command", "delete", "explain", "export", "change-before", "change-after",
})  # fmt: skip
_IN_A_RECORDING = frozenset({
    "earlier", "later", "change-before", "change-after", "play", "remember", "compare",
})  # fmt: skip
_CLUSTER_WIDE = frozenset({"refresh", "pause", "faster", "slower"})


def reason(
    action: str, session: Session, snapshot: Snapshot, group: str | None, *, marked: int = 0, now: float | None = None
) -> str | None:
    """Why `action` (an id of `keys.ACTIONS`) cannot be done; None when it can.

    Args:
        group: the group that it would be about.
        marked: how many groups are marked; actions on many show what is refused themselves.
        now: seconds since the epoch, for the age of a describe; None takes the snapshot's own time.
    """
    known = BY_ID.get(action)
    if known is not None and known.writes and session.read_only:
        return READ_ONLY
    why = _of_the_session(action, session)
    if why is not None:
        return why
    if action not in _ABOUT_A_GROUP or (action == "delete" and marked):
        return None
    if group is None:
        return "put the cursor on a group first"
    if action == "delete":
        return delete_availability(snapshot, group, session.read_only, now=now)
    return None


def _of_the_session(action: str, session: Session) -> str | None:
    """Why an action cannot be done whatever the group is."""
    if action in _IN_A_RECORDING and session.replay_position is None:
        return "this is live; R or kgtui record LAKE records it, and t opens a recording"
    if action == "record" and session.recording is None:
        return cannot_record(session)
    if action in ("time", "live", "insights"):
        return _of_the_past(action, session)
    if action in _CLUSTER_WIDE and session.monitor is None:
        return "no cluster is being watched"
    if action == "cluster" and session.open_cluster is None:
        where = f" in {text.plain(str(session.config_file))}" if session.config_file else ""
        return f"no other cluster is configured; name yours{where}"
    return None


def _of_the_past(action: str, session: Session) -> str | None:
    """The same of what leads to a recording, back from it, and to its findings."""
    if action == "time":
        return cannot_look_back(session) if session.replay_position is None else None
    if action == "live":
        return (
            "no live cluster is below this screen: t opens a recording over one"
            if session.live_session is None
            else None
        )
    return f"findings are read with {missing()}: pip install 'kgtui[history]'" if missing() else None
