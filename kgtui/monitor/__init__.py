"""Poll a cluster through a `GroupAdmin`, and publish snapshots, which contain the newest data of all groups.

| module | contents |
|---|---|
| `monitor` | `Monitor`: runs the polling loops ("tiers") and publishes snapshots |
| `policy` | intervals and limits of polling |
| `poll_timer` | the timer that all polling loops share |
| `list_tier` | tier 0: lists the groups of each broker |
| `missing_groups` | checks whether groups that no broker lists still exist |
| `detail_tiers` | tier 1: reads members and offsets of the selected and visible groups |
| `sweep` | tier 2, "the sweep": reads all groups in the background |
| `screening` | finds groups with a possible problem in the data of the sweep |
| `trail_rules` | the rules of `screening` that need only the last few reads of a group |
| `lost_records` | counts unread records that retention has deleted |
| `suspects` | chooses the groups with a possible problem that are read more often than others |
| `health` | health verdicts on the selected and visible groups, and on groups with a possible problem |
| `store` | the data of all groups, from which snapshots are made |
| `listing_index` | finds groups by what ListGroups returns: type, protocol, state and coordinator |
| `event_tracker` | finds events by comparing each read with the previous one |
| `screened_groups` | stores the results of `screening`, by group and by problem |
| `sorted_ids` | finds, inserts and removes ids in a long sorted list |
| `record_times` | finds out when unread records were written, to show the age of the oldest one |
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
    """Return the object with this public name, and import its module when the name is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
