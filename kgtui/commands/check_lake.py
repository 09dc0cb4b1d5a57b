"""What a recording tells of groups over a while that ends at one of its moments: `kgtui check --lake`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.model.group_types import DEAD
from kgtui.model.health import ReadHistory
from kgtui.monitor.policy import CHECK_GAPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.poll_reader import GroupRead, PollRead
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.group import Listing
    from kgtui.model.health import Watching

_GROUP_ID_NOT_FOUND = 69


class RecordedWatch:
    """Watches some groups over the polls of a recording: what `kgtui.commands.watching.Watch` is to a cluster.

    Attributes:
        moments: the polls that are looked at; the last one is that of the admin.
        observations: group id → what was read.
        group_faults: group id → why the last poll could not read it; no entry when it did.
        faults: of the last poll, what concerns no one group.
        seconds: from the first poll to the last.
        interval: seconds from poll to poll, as the recorder was set.
    """

    def __init__(self, admin: ReplayAdmin, groups: Mapping[str, Listing], seconds: float, watching: Watching) -> None:
        self._admin = admin
        self.moments = window(admin, seconds)
        self.seconds = round(self.moments[-1].at - self.moments[0].at, 3)
        self.interval = admin.point_in_time.interval
        watching = replace(watching, gap_after=CHECK_GAPS.limit(self.interval))
        self.observations = {group: ReadHistory(watching) for group in groups}
        self.group_faults: dict[str, Fault] = {}
        self.faults: tuple[Fault, ...] = ()

    async def run(self) -> None:
        """Read them all. Raises `LakeError`."""
        from kgtui.history.poll_reader import read_polls

        polls = read_polls(self._admin.recording, self.observations, self.moments)
        while await asyncio.to_thread(self._take_next, polls):
            pass

    def notes(self, seconds: float) -> Iterator[str]:
        """Sentences about what was not recorded of so many seconds."""
        from kgtui.model.health.wording import duration

        if self.seconds < seconds - self.interval:
            yield f"the recording has {duration(self.seconds)} of the {duration(seconds)} before this moment"
        for moment in self.moments[1:]:
            if moment.gap:
                yield f"nothing is known of a time in between: {moment.gap}"

    def _take_next(self, polls: Iterator[PollRead]) -> bool:
        read = next(polls, None)
        if read is None:
            return False
        self.faults = read.faults
        self.group_faults.clear()
        for group, seen in self.observations.items():
            if read.poll.gap:
                seen.interrupt()
            self._take(read.poll, group, seen, read.groups.get(group))
        return True

    def _take(self, moment: RecordedPoll, group: str, seen: ReadHistory, read: GroupRead | None) -> None:
        fault = None if read is None else read.fault
        description = None if read is None else read.description
        gone = fault is not None and fault.code == _GROUP_ID_NOT_FOUND
        if read is None or gone or (description is not None and description.state == DEAD):
            seen.vanish()
            return
        seen.add(moment.at, description, read.offsets, fault=fault is not None or description is None)
        if fault is not None and fault.group is not None:
            self.group_faults[group] = fault


def window(admin: ReplayAdmin, seconds: float) -> Sequence[RecordedPoll]:
    """The recorded moments of so many seconds that end at the admin's; one more where polls came a little apart."""
    end = admin.poll
    moments = admin.recording.polls(end.at - seconds, end.at)
    before = admin.recording.step(moments[0], -1)
    if before is not None and not moments[0].gap and moments[0].at > end.at - seconds:
        moments.insert(0, before)
    return moments
