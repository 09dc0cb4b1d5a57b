"""Binary form of a trail (the results of a group's last background reads), and functions that read parts of it.

An encoded trail has at most 300 bytes for 10 partitions, and 220 if the sum of the log end offsets is below 2³¹. It
always has room for `SAMPLES` reads and `REBALANCES_KEPT` rebalances, so that its size rarely changes. If encoded trails
grew, the small blocks that the shorter ones leave behind would waste several megabytes in a cluster with 100,000
groups.

`kgtui.model.trail.Trail` encodes and decodes all of it. The functions in this module decode only what they return, so
that they are fast enough to be called for all groups.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = 5
"""Maximum number of background reads of a group whose results (sums of offsets and lag) are kept.

If there are more reads, the results of the oldest one are dropped.
"""

REBALANCES_KEPT = 3
"""Maximum number of rebalances of a group whose times are kept. If there are more, the oldest one is dropped."""

HEADER = Struct("<BIIIIIHHBBI")
"""Format of the first bytes of an encoded `Trail`.

The first byte is the number of reads in the trail. `WIDE` is added to this byte if each offset has 8 bytes instead of
4.
"""
WIDE = 0x80
"""Added to the first byte of an encoded `Trail` if its offsets and lags have 8 bytes instead of 4."""
REBALANCED_AT = Struct(f"<{REBALANCES_KEPT}I")
"""Format of the times of the last rebalances in an encoded `Trail`."""
REWIND = Struct("<IIqB")
"""Format of the data about an offset that went back, at the end of an encoded `Trail`; left out if there are none."""


class Format(NamedTuple):
    """Binary formats in an encoded `Trail`.

    Attributes:
        sums: format of the sums of offsets and lag in one read.
        two_sums: format of the sums of two reads in a row.
        position: type code of the `array` of offsets, one per partition.
    """

    sums: Struct
    two_sums: Struct
    position: Literal["i", "q"]


NARROW_FORMAT = Format(Struct("<IiiH"), Struct("<IiiHIiiH"), "i")
WIDE_FORMAT = Format(Struct("<IqqH"), Struct("<IqqHIqqH"), "q")


def number_of_reads(data: bytes) -> int:
    """Return `Trail.reads` of an encoded trail; 0 for empty bytes."""
    return HEADER.unpack_from(data)[8] if data else 0


def lag_samples(data: bytes) -> list[int]:
    """Return a group's total lag in each of its last background reads, oldest first.

    Args:
        data: an encoded `Trail`. Only the lags in it are decoded, because this is faster.
    """
    form, samples = format_and_samples(data)
    return [row[2] for row in sums_in(data, form, samples)]


def lag_trend(data: bytes) -> float | None:
    """Return the change of a group's total lag over its last background reads, in records per second.

    None if there are fewer than two reads, or if the first and the last read differ in the number of partitions with
    unknown lag.

    Args:
        data: an encoded `Trail`, which contains the reads.
    """
    found = lag_trend_and_span(data)
    return None if found is None else found[0]


def lag_trend_and_span(data: bytes) -> tuple[float, float] | None:
    """Return `(trend, seconds)` of the last background reads of a group.

    `trend` is the change of the total lag in records per second. `seconds` is the time between the first and the last
    read. The result is None if there are fewer than two reads, or if the first and the last read differ in the number
    of partitions with unknown lag.

    Args:
        data: an encoded `Trail`, which contains the reads.
    """
    form, samples = format_and_samples(data)
    if samples < 2:
        return None
    began, _, before, unknown = form.sums.unpack_from(data, HEADER.size)
    at, _, now, still_unknown = form.sums.unpack_from(data, HEADER.size + (samples - 1) * form.sums.size)
    if at <= began or unknown != still_unknown:
        return None
    return (now - before) / (at - began), at - began


def last_rates(data: bytes) -> tuple[float, float] | None:
    """Return how many records per second were written and consumed between the last two background reads of a group.

    None if there are fewer than two reads.

    Args:
        data: an encoded `Trail`, which contains the reads.
    """
    form, samples = format_and_samples(data)
    if samples < 2:
        return None
    began, first_end, first_lag, _, at, end, lag, _ = form.two_sums.unpack_from(
        data, HEADER.size + (samples - 2) * form.sums.size
    )
    if at <= began:
        return None
    written, consumed, seconds = end - first_end, (end - lag) - (first_end - first_lag), at - began
    return max(written, 0) / seconds, max(consumed, 0) / seconds


def format_and_samples(data: bytes) -> tuple[Format, int]:
    """Return (format, number of reads) of an encoded `Trail`; 0 reads if `data` is empty."""
    wide, samples = divmod(data[0] if data else 0, WIDE)
    return (WIDE_FORMAT if wide else NARROW_FORMAT), samples


def sums_in(data: bytes, form: Format, samples: int) -> Iterator[tuple[int, ...]]:
    """Return the sums of offsets and lag in each read of an encoded `Trail`, oldest first, as the values of `Sums`."""
    return form.sums.iter_unpack(data[HEADER.size : HEADER.size + samples * form.sums.size])
