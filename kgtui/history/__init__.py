"""Record the groups of a cluster over time, and replay the state of the cluster at any recorded time.

The packages deltalake and pyarrow are imported only when a lake (a folder of Delta tables) is opened.

| module | contents |
|---|---|
| `recorder` | `Recorder`: polls all groups and records the changes |
| `poller` | reads all groups of a cluster for one poll |
| `options` | options and status of the recorder |
| `changes` | finds the rows that changed between two polls |
| `rows` | converts between model objects and table rows |
| `flushing` | writes polls to the lake on a separate thread |
| `recording_reader` | `RecordingReader`: reads the polls, states and changes of a recording |
| `poll_index` | list of all polls, with the reasons why polls are missing between them |
| `keyframe` | state at any poll, computed from the last keyframe (poll with the complete state) and later changes |
| `point_in_time` | state of the cluster at one poll; comparison of two polls |
| `poll_reader` | descriptions and offsets at consecutive polls, for the health rules |
| `group_timeline` | lag, rates, members and changes of one group over time |
| `state_times` | finds out since when each group has been in its current state |
| `recorded_events` | finds the events in a recording |
| `recorded_access` | stores the permissions of the recorder's user |
| `replay` | `ReplayAdmin`: a read-only `GroupAdmin` (access to a cluster) that reads a recording |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.history.replay import ReplayAdmin

__all__ = ["Recorder", "RecorderOptions", "RecordingReader", "ReplayAdmin"]

_MODULES = {
    "RecordingReader": "recording_reader",
    "Recorder": "recorder",
    "RecorderOptions": "options",
    "ReplayAdmin": "replay",
}


def __getattr__(name: str) -> object:
    """Return the public class that is called `name`. Its module is imported only when the class is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"kgtui.history.{_MODULES[name]}"), name)
