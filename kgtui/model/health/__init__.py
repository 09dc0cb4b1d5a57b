"""Computes the health of a group from its polled state and offsets over some time.

`ReadHistory` collects the reads of one group, and `health_of` computes a `GroupHealth` from it: the health verdict by
Burrow's rules (`kgtui.model.burrow`), the lag trend, the time lag, the estimated time to catch up, records that are
lost or will be lost soon, rebalances, members that delay a reconciliation, and the time that the group has been Empty.

kgtui polls offsets, so it observes that an offset changed, but not every single commit. Each `GroupHealth` of this
package therefore has the basis `observed`, and its attribute `undecided` lists verdicts that cannot be decided yet,
with the data that is missing. An unknown value is None, never 0. No rate is computed across a gap between reads. Times
are in seconds since the epoch, durations in seconds, lag in records, and rates in records per second. The package
imports only other modules of the model.

| module | contents |
|---|---|
| `read_history` | `ReadHistory`: state and offsets of one group over time |
| `group_health` | `health_of`: the health of a group from its read history |
| `judging` | verdicts by Burrow's rules, and the rule for share groups |
| `judged` | `judgment_of_health`: the judgment on a group that is observed exactly |
| `rates` | lag trend, growth of a log, time lag, time of data loss |
| `backlog_start` | since when a group has been behind, from its time lags |
| `values` | data classes: `GroupHealth` and its parts; limits, such as when a group is flapping or loses records soon |
| `wording` | texts: the reason for a verdict, and which data is missing |
"""

from __future__ import annotations

from kgtui.model.health.group_health import health_of, health_steps, with_hidden_offsets
from kgtui.model.health.read_history import ReadHistory
from kgtui.model.health.values import (
    OBSERVED,
    EmptyPeriod,
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
    "EmptyPeriod",
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
    "with_hidden_offsets",
]
