"""The monitor polls a `GroupAdmin`, and publishes the newest data of all groups as snapshots.

A public name is imported when it is first used, so that a command that needs only the polling policy does not load the
other modules.

| module | contents |
|---|---|
| `monitor` | `Monitor`: runs the polling loops ("tiers") and publishes snapshots |
| `policy` | the polling policy: intervals, gaps and limits |
| `poll_timer` | the timer that all polling loops share |
| `list_tier` | tier 0: reads the list of groups from each broker |
| `missing_groups` | checks whether groups exist that no broker lists any longer |
| `detail_tiers` | tier 1: reads the selected and visible groups in full |
| `sweep` | tier 2, "the sweep": reads all groups in the background |
| `screening` | finds groups with a possible problem in the data that the sweep has read |
| `trail_rules` | the rules of screening that need only the data of a group's last reads |
| `lost_records` | counts unread records that retention has deleted, and finds groups that may lose records soon |
| `suspects` | chooses which groups with a possible problem are read in full |
| `health` | health verdicts on the groups that tier 1 reads |
| `store` | the data of all groups, from which snapshots are made |
| `listing_index` | for each listing (a row of ListGroups without the id), the sorted ids of the groups that have it |
| `event_tracker` | finds events by comparing each read with the previous one |
| `screened_groups` | stores the judgments of `screening`, by group and by problem |
| `sorted_ids` | finds, inserts and removes ids in a long sorted list |
| `record_times` | searches for the times of unread records, for exact ages |
| `empty_groups` | finds unused groups by the times of their unread records |
| `gc_tuning` | tunes Python's garbage collector for many groups |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.monitor.monitor import Monitor
    from kgtui.monitor.policy import MonitorOptions

__all__ = ["Monitor", "MonitorOptions"]

_MODULES = {"Monitor": "kgtui.monitor.monitor", "MonitorOptions": "kgtui.monitor.policy"}


def __getattr__(name: str) -> object:
    """Import the module that defines a public name of this package when the name is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
