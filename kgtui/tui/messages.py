"""What parts of the screen tell each other. Attributes go down by calls, these go up; groups are named by their id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from kgtui.model.snapshot import Snapshot
    from kgtui.tui.session import Session


class SnapshotArrived(Message):
    """The monitor published a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class GroupSelected(Message):
    """The cursor of the tree came to a group, or left all groups (None)."""

    def __init__(self, group: str | None) -> None:
        super().__init__()
        self.group = group


class GroupOpened(Message):
    """A group was opened with enter or a double click: its panes want the focus."""

    def __init__(self, group: str) -> None:
        super().__init__()
        self.group = group


class ActionRequested(Message):
    """A key of the footer was clicked or a command chosen; `action` is an id of `keys.ACTIONS`."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class ClustersRequested(Message):
    """A person wants to see the clusters that can be opened."""


class DeleteRequested(Message):
    """The groups named are to be deleted; they are the ones that the dialog is opened for."""

    def __init__(self, groups: tuple[str, ...]) -> None:
        super().__init__()
        self.groups = groups


class ExplainRequested(Message):
    """A person wants to know what a fault, or the state of a group, means."""

    def __init__(self, group: str | None) -> None:
        super().__init__()
        self.group = group


class RecordingOpened(Message):
    """A recording was opened from a live screen, which it is to be shown over."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session


class LiveRequested(Message):
    """A person wants to go back from a recording to the live screen below it."""


class MomentRequested(Message):
    """A person wants to see another moment of the recording; `at` is in seconds since the epoch."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at
