"""Polls a GroupAdmin in tiers, keeps the newest Snapshot and the series, and tells what changed.

Imports the admin's interface and the model. `Monitor` is the face; `store` holds what is known, `listing` is tier 0
(every broker's list), `focus` tier 1 (what is looked at), `sweep` tier 2 (every group in turn), `health` judges what
tier 1 reads, `closer` is all but the lists, loaded once the first list has been drawn.
"""

from __future__ import annotations

from kgtui.monitor.monitor import Monitor
from kgtui.monitor.options import MonitorOptions

__all__ = ["Monitor", "MonitorOptions"]
