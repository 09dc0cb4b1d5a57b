"""The figures that the pool works by, and its lanes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Lane(Enum):
    """Which of a broker's two connections a request takes.

    A broker works on one request of a connection at a time: a long list would hold up what the user looks at.
    """

    BULK = "bulk"
    UI = "ui"


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Times in seconds.

    Attributes:
        connect_timeout: for TCP, TLS, login and negotiation together.
        second_wait: how long a call waits for the connection to a broker that has just failed; trying goes on.
        backoff, backoff_max: how long a broker that failed is left alone, first and at most; see `Backoff`.
        bulk_in_flight, ui_in_flight: requests under way at once on one connection.
        stall: a connection without any sign of life for so long, when an answer misses its deadline, is replaced.
        head_start: how long one broker is waited for before another is asked the same, where any will do.
        retry_pause, retry_pause_max: between two looks for a coordinator that is moving or loading.
        thread_bytes: answers longer than this are decoded in a thread.
        batch: how many groups or topics one lookup names.
    """

    connect_timeout: float = 5.0
    second_wait: float = 1.0
    backoff: float = 0.1
    backoff_max: float = 5.0
    bulk_in_flight: int = 2
    ui_in_flight: int = 4
    stall: float = 1.0
    head_start: float = 0.25
    retry_pause: float = 0.1
    retry_pause_max: float = 1.0
    thread_bytes: int = 256 * 1024
    batch: int = 500

    def in_flight(self, lane: Lane) -> int:
        """Requests under way at once on a connection of this lane."""
        return self.ui_in_flight if lane is Lane.UI else self.bulk_in_flight
