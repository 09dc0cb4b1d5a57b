"""How often the monitor asks, and how much at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """Settings of a monitor; times in seconds.

    Attributes:
        interval: between two lists of a broker, and between two reads of what is looked at.
        timeout: how long a list or a read may take.
        backoff_most: longest pause after failures.
        share: the part of the time that a broker may be kept busy with lists; the interval stretches to keep it.
        focus: how many visible groups are read in full at each interval, beside the selected one.
        sweep_rate: groups a second that the background sweep reads, over all brokers; less where there are very many.
        sweep_batch: groups that the sweep reads at once.
        sweep_pause: shortest time from the start of one sweep to the next.
        publish: shortest time between two snapshots; ten times as long where only the sweep has news.
        rest: how long the view must hold still before what came into it is read.
        cluster_every: between two looks at the cluster's metadata.
        keep: groups whose details are kept, and that are observed, after they were looked at.
    """

    interval: float = 2.0
    timeout: float = 10.0
    backoff_most: float = 30.0
    share: float = 0.1
    focus: int = 40
    sweep_rate: float = 400.0
    sweep_batch: int = 50
    sweep_pause: float = 15.0
    publish: float = 0.2
    rest: float = 0.12
    cluster_every: float = 30.0
    keep: int = 200
