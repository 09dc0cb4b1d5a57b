"""Computes the health of a group from its polled state and offsets.

`ReadHistory` collects the reads of one group. `health_of` computes a `GroupHealth` with the verdict: `OK`, `WARN`,
`ERR` or `NOT_FOUND`.

kgtui does not observe every commit, so the true verdict may be worse than the reported one. `GroupHealth.undecided`
contains the worse verdicts that kgtui cannot exclude. An unknown value is None, never 0. A gap is a failed read, or a
long time without reads. No rate is computed from reads on both sides of a gap.

Unless stated otherwise, times are epoch seconds, durations are seconds, lags are records, and rates are records per
second.

| module | contents |
|---|---|
| `read_history` | `ReadHistory`: the state and the offsets of one group at each poll |
| `group_health` | `health_of`: the health of a group from its read history |
| `judging` | verdicts on partitions by Burrow's rules, and by a separate rule for share groups |
| `judged` | `judgment_of_health`: whether a group that kgtui reads at every poll has a problem, and since when |
| `rates` | lag trend, growth of a log, age of unread records, expected time of data loss |
| `backlog_start` | the time at which a group began to fall behind, from the ages of its oldest unread records |
| `values` | data classes (`GroupHealth` and its parts), settings and limits |
| `wording` | texts about verdicts on groups: the reason, and the data that is missing to confirm a worse verdict |
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
