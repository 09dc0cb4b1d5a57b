"""Computes the health of a group from its polled state and offsets.

`ReadHistory` collects the reads of one group, and `health_of` computes a `GroupHealth` from it.

kgtui polls offsets, so it does not observe every commit. Some verdicts therefore stay undecided
(`GroupHealth.undecided`). An unknown value is None, never 0. No rate is computed across a gap, which is a failed read
or a long time without reads. Times are in seconds since the epoch, durations in seconds, lag in records, and rates in
records per second.

| module | contents |
|---|---|
| `read_history` | `ReadHistory`: state and offsets of one group over time |
| `group_health` | `health_of`: the health of a group from its read history |
| `judging` | verdicts by Burrow's rules, and the rule for share groups |
| `judged` | `judgment_of_health`: the judgment on a group that is read at every poll |
| `rates` | lag trend, growth of a log, age of unread records, expected time of data loss |
| `backlog_start` | when a group began to fall behind, computed from the ages of its oldest unread records |
| `values` | data classes (`GroupHealth` and its parts), settings and limits |
| `wording` | texts that say why a verdict was given, and which data is missing for a verdict |
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
