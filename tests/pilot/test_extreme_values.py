"""Tests that no number or text from a broker makes the running app fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.config import StateFolder
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.group import GroupConfig, GroupDescription, Listing
from kgtui.model.members import ConnectWorker, StreamsAssignment, StreamsMember, Topology
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset
from kgtui.model.record_times import RecordTime, TimeRange
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.tui.app import KgtuiApp
from kgtui.tui.session import ClusterLabel, Session
from tests.pilot.app_driver import HOSTILE, settled
from tests.scripted import ScriptedAdmin, brokers, member

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from kgtui.model.members import Member

OPTIONS = MonitorOptions(
    interval=0.3, timeout=2.0, publish_interval=0.1, sweep_pause=0.1, sweep_rate=100_000.0, metadata_interval=0.3,
    describe_pause=0.1,
)  # fmt: skip

INT32 = (0, 1, 7, -1, 2**31 - 1, -(2**31))
# `INT64` has no negative values, because kgtui's decoder replaces a negative offset in a response with None.
INT64 = (0, 1, 1_000, 1_020, 2**62, 2**63 - 1)
SECONDS = (0.0, 60.0, 1.8e9, 1.8e12, 9.2e15)
IDS = [text for text in HOSTILE if len(text) < 300]
TEXTS = ("app", *IDS)
TYPES = ("classic", "consumer", "share", "streams", "newest")
STATES = ("Stable", "Empty", "PreparingRebalance", "Reconciling", "NotReady", "Dead", "Odd\n", "")
KEYS = (
    *"123456", *"ezzsbvErdCY?", *["escape"] * 6, "down", "down", "up", "home", "enter", "exclamation_mark",
)  # fmt: skip
"""Keys that open panes, pages and dialogs, or that move the cursor. None of them quits the app."""


class ExtremeAdmin(ScriptedAdmin):
    """An admin client that returns random values. Many are extreme, such as the largest 64-bit integer."""

    def change(self, chance: random.Random) -> None:
        """Choose new random values, which the methods of this class return from now on."""
        pick = chance.choice
        names = [*IDS, *(f"group-{n}" for n in range(6))]
        for name in names:
            protocol = pick(("", "consumer", "connect", "sr", "\x1b[0m"))
            listing = self.groups[name] = Listing(pick((*TYPES, None)), protocol, pick(STATES), pick((1, 2, 3)))
            self.descriptions[name] = GroupDescription(
                name, listing.type or "classic", protocol, listing.state or "", listing.coordinator,
                assignor=pick(TEXTS), group_epoch=pick(INT32), assignment_epoch=pick(INT32),
                members=tuple(self._member(chance, number) for number in range(chance.randrange(4))),
                operations=pick((None, frozenset({"READ"}), frozenset({"READ", "DELETE", "DESCRIBE"}))),
                topology=pick((None, Topology(pick(INT32)))), topology_status=pick((None, *TEXTS)),
                source=pick(TEXTS), authoritative=pick((True, False)),
            )  # fmt: skip
            keys = [(pick(("t", *IDS[:3])), pick(INT32)) for _ in range(chance.randrange(4))]
            self.commits[name] = tuple(
                CommittedOffset(*key, pick((None, *INT64)), pick(INT32), pick(TEXTS), pick((0, 0, 3, 29, 32_000)))
                for key in sorted(set(keys))
            )
            self.shares[name] = tuple(
                ShareOffset(*key, pick((None, *INT64)), pick(INT32), pick((None, *INT64)), pick((0, 29)), pick(TEXTS))
                for key in sorted(set(keys))
            )
            for commit in self.commits[name]:
                tp = (commit.topic, commit.partition)
                self.bounds[tp] = PartitionBounds(pick((None, *INT64)), pick((None, *INT64)), pick((0, 0, 3, 29, -1)))
                times = sorted((pick(SECONDS), pick(SECONDS)))
                self.times[tp] = RecordTime(
                    commit.offset or 0, pick((None, TimeRange(*times))), pick((None, TimeRange(*times))),
                    expires_at=pick((None, *SECONDS)), any_time=pick((True, False)),
                )  # fmt: skip
            self.configs[name] = (GroupConfig(pick(TEXTS), pick((None, *TEXTS)), pick(TEXTS), type=pick(TEXTS)),)
        topics = {"t": pick(SECONDS)}
        self.topic_retention = Retention(topics, pick((None, *SECONDS)), {"t": TopicRules(pick((None, *SECONDS)))})
        hosts = ("127.0.0.1", "a..b", "\x1b[31m", "x" * 70, "::1")
        self.brokers = {
            node: replace(broker, host=pick(hosts), port=pick((9092, 0, 70_000)))
            for node, broker in brokers(pick((2, 3))).items()
        }

    def _member(self, chance: random.Random, number: int) -> Member:
        pick = chance.choice
        parts = ((pick(TEXTS), tuple({pick(INT32), pick(INT32)})),)
        tasks = StreamsAssignment(parts, (), pick(((), parts)))
        worker = ConnectWorker(pick(TEXTS), config_offset=pick(INT64), tasks=parts, error=pick(INT32))
        streams = StreamsMember(
            pick(TEXTS), pick(INT32), pick(TEXTS), assignment=tasks, target=tasks,
            task_offsets=((pick(TEXTS), pick(INT32), pick(INT64)),),
        )  # fmt: skip
        return member(
            f"{pick(TEXTS)}-{number}", client_id=pick(TEXTS), host=pick(TEXTS), instance_id=pick((None, *TEXTS)),
            rack=pick((None, *TEXTS)), epoch=pick((None, *INT32)), topics=pick((None, (pick(TEXTS),))),
            regex=pick((None, "(")), assignment=pick((None, parts)), target=pick((None, parts)),
            connect=pick((None, None, worker)), streams=pick((None, None, streams)), undecoded=pick((b"", b"\xff\x00")),
        )  # fmt: skip


@pytest.mark.parametrize("rounds", [4, pytest.param(200, marks=[pytest.mark.full, pytest.mark.timeout(1_800)])])
async def test_extreme_values_from_brokers_do_not_crash_the_app(
    tmp_path: Path, rounds: int, chance: random.Random
) -> None:
    admin = ExtremeAdmin()
    admin.change(chance)
    monitor = Monitor(admin, OPTIONS)
    app = KgtuiApp(Session(ClusterLabel("extreme", "broker-1:9092"), monitor, state_folder=StateFolder(tmp_path)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for _ in range(rounds):
            admin.change(chance)
            for key in chance.sample(KEYS, 12):
                await pilot.press(key)
            await asyncio.sleep(0.4)
        assert monitor.snapshot.groups
    assert not app.return_code
