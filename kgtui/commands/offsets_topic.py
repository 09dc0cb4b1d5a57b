"""`__consumer_offsets` as our own admin client finds it: its partitions, and where their logs begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.commands.connecting import connected, timeout_of
from kgtui.config import load, resolve
from kgtui.errors import KgtuiError, SourceError
from kgtui.pipeline.sources.kafka import NOT_PERMITTED, TOPIC, OffsetsTopic
from kgtui.protocol.error_codes import lookup

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from kgtui.admin.kafka import KafkaGroupAdmin

_UNKNOWN_TOPIC = 3
_FORBIDDEN = 29


async def offsets_topic(args: argparse.Namespace) -> OffsetsTopic:
    """The topic of the cluster that the options mean, with what is needed to log in there.

    Raises:
        SourceError: there is none, it may not be read, or some of it cannot be read now.
        UnreachableError: no broker answers.
    """
    target = resolve(load(), args)
    async with connected(args) as admin:
        bounds = await bounds_of(admin, timeout_of(args))
        cluster = await admin.cluster(timeout=timeout_of(args))
        kept = await _offsets_retention(admin, timeout_of(args))
    return OffsetsTopic(tuple(target.seeds), bounds, dict(target.properties), cluster.cluster_id, kept)


async def _offsets_retention(admin: KafkaGroupAdmin, timeout: float) -> float | None:
    """Not known where configs of brokers may not be read."""
    try:
        return (await admin.retention([TOPIC], timeout=timeout)).rows.offsets
    except KgtuiError:
        return None


async def bounds_of(admin: KafkaGroupAdmin, timeout: float) -> Mapping[int, tuple[int, int]]:
    """Partition → first and next offset, of every partition. Raises as `offsets_topic`."""
    leaders = await admin.pool.find_leaders([TOPIC], timeout=timeout)
    if leaders.errors:
        raise SourceError(_why(min(leaders.errors.values()), leaders.errors))
    partitions = [partition for _, partition in sorted(leaders.nodes)]
    if not partitions:
        raise SourceError(_why(_UNKNOWN_TOPIC, {}))
    answer = await admin.partition_bounds([(TOPIC, partition) for partition in partitions], timeout=timeout)
    found: dict[int, tuple[int, int]] = {}
    for partition in partitions:
        bounds = answer.rows.get((TOPIC, partition))
        if bounds is None:
            reason = answer.faults[0].message if answer.faults else "no answer"
            raise SourceError(f"{TOPIC}: partition {partition} cannot be read: {reason}")
        if bounds.log_start is None or bounds.log_end is None:
            raise SourceError(_why(bounds.error, {(TOPIC, partition): bounds.error}))
        found[partition] = bounds.log_start, bounds.log_end
    return found


def _why(code: int, errors: Mapping[str | tuple[str, int], int]) -> str:
    if code == _UNKNOWN_TOPIC:
        return f"the cluster has no topic {TOPIC} yet: no group has ever committed there"
    if code == _FORBIDDEN:
        return NOT_PERMITTED
    partitions = sorted(place[1] for place in errors if isinstance(place, tuple))
    which = f", partition {partitions[0]}" if partitions else ""
    return f"{TOPIC}{which} cannot be read: {lookup(code).name}"
