"""Textual messages that widgets and dialogs post to their screen and to the app.

The attributes `group` and `groups` of these messages contain ids of Kafka groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Session


class SnapshotArrived(Message):
    """The monitor has published a new snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class GroupSelected(Message):
    """The cursor of the group tree has moved to the row of a different group or tree node.

    A tree node contains one or more groups, such as all groups in one state. While the cursor is on the row of a tree
    node, no group is selected.
    """


class GroupOpened(Message):
    """The user has opened the row of a group or of the cluster in the group tree, with Enter or a double click.

    The screen should focus the panes of the group, or the page of the cluster.

    Attributes:
        group: id of the group; None for the row of the cluster.
    """

    def __init__(self, group: str | None) -> None:
        super().__init__()
        self.group = group


class ActionRequested(Message):
    """The user has clicked a key in the footer. The screen should run the action of this key.

    Attributes:
        action: id of the action in `kgtui.tui.screen_actions.table`.
    """

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class ClustersRequested(Message):
    """The user wants to switch to a different cluster."""


class HelpRequested(Message):
    """The user wants to see the help."""


class DeleteRequested(Message):
    """The user wants to delete groups. `groups` contains the ids of these groups."""

    def __init__(self, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.groups = groups


class RecordingOpened(Message):
    """The user has opened a recording. The app should show it on a new screen."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session


class LiveRequested(Message):
    """The user wants to return from a recording to the live cluster."""


class TimeRequested(Message):
    """The user wants to see the cluster at a time in a recording.

    Attributes:
        at: the time, in seconds since the epoch.
    """

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at
