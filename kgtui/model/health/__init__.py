"""How a group does: what a poller's reads of it, over a while, tell of its health.

Imports the rest of the model. `Observation` collects reads of one group, `health_of` turns it into a `GroupHealth`:
the verdict by Burrow's rules (`kgtui.model.verdict`) and, beside it, lag trend, time lag, drain estimate, records lost
and about to be lost, rebalances, members that hold up a reconciliation, time Empty.

A poller sees offsets change, not commits: every verdict made here is labelled `observed`, and what the watch was too
short to decide is listed in `GroupHealth.undecided`, with what it would take. Unknown is None and never 0, and no rate
is taken across a gap between reads. Times are seconds since the epoch, spans seconds, offsets and lag records, rates
records a second.
"""

from __future__ import annotations

from kgtui.model.health.group_health import health_of, health_steps
from kgtui.model.health.read_history import ReadHistory
from kgtui.model.health.values import (
    OBSERVED,
    EmptySpell,
    GroupHealth,
    Lack,
    Loss,
    PartitionHealth,
    RebalanceRate,
    TimeLag,
    Undecided,
    Watching,
)

__all__ = [
    "OBSERVED",
    "EmptySpell",
    "GroupHealth",
    "Lack",
    "Loss",
    "PartitionHealth",
    "ReadHistory",
    "RebalanceRate",
    "TimeLag",
    "Undecided",
    "Watching",
    "health_of",
    "health_steps",
]
