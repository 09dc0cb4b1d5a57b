"""Tests that the output of `ls`, `show` and the incident export is byte for byte the same as the stored output.

The stored outputs are in the folder `expected`. After an intended change, store the new outputs: `python -m
tests.unit.output.test_exact_output`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.show import read_details
from kgtui.model.answer import Coverage, Fault
from kgtui.output import group_details, group_list
from kgtui.output.export_file import EXPORTS
from kgtui.output.incident import incident
from tests.pilot.panes import data
from tests.unit.model.query_snapshots import NOW, mixed_snapshot
from tests.unit.output.test_group_details import cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.snapshot import Snapshot

EXPECTED = Path(__file__).parent / "expected"
FAULT = Fault("GROUP_AUTHORIZATION_FAILED", "forbidden", 30, 1, "Orders-Share", "ask for DESCRIBE")
SHOWN = ("pay", "shared", "connect", "registry", "app", "simple")


def example_group_list(*, members: bool = True, lag: bool = True, repeated: bool = False) -> group_list.GroupList:
    """Return a list of six groups of different kinds. One of the groups could not be read."""
    snapshot = mixed_snapshot()
    ids = sorted(snapshot.groups)
    return group_list.GroupList(snapshot, ids, Coverage((1, 2), (5, 6)), (FAULT,), members, lag, repeated)


def described() -> tuple[Snapshot, tuple[Fault, ...]]:
    """Return a snapshot with one group of each kind, and the errors of reading these groups."""
    snapshot, faults = asyncio.run(read_details(cluster(), SHOWN, timeout=5))
    details = {group: replace(reading, at=NOW) for group, reading in snapshot.details.items()}
    offsets = {group: replace(reading, at=NOW) for group, reading in snapshot.offsets.items()}
    return replace(snapshot, taken_at=NOW, details=details, offsets=offsets), faults


def show_json() -> bytes:
    snapshot, faults = described()
    return group_details.as_json(snapshot, SHOWN, Coverage((3, 3), (6, 6)), (*faults, FAULT))


def show_tables(*, wide: bool) -> bytes:
    """Return the tables that `kgtui show` prints for the groups in `SHOWN`, without the lines above the first table."""
    snapshot, _ = described()
    texts = [group_details.as_text(snapshot, group, wide=wide) for group in SHOWN]
    return "\n".join(part for text in texts for part in text.split("\n\n")[1:]).encode()


def incidents() -> bytes:
    groups = ("payments.settle", "connect-prod", "secret.group")
    return b"".join(EXPORTS["json"].encode(incident(data.example_snapshot(), group, version="9.9")) for group in groups)


CASES: dict[str, Callable[[], bytes]] = {
    "ls.json": lambda: group_list.as_json(example_group_list()),
    "ls-without-lag.json": lambda: group_list.as_json(example_group_list(lag=False, repeated=True)),
    "ls.csv": lambda: group_list.as_csv(example_group_list()),
    "ls.txt": lambda: group_list.as_table(example_group_list()).encode(),
    "ls-plain.txt": lambda: group_list.as_table(example_group_list(members=False, lag=False)).encode(),
    "ls-wide.txt": lambda: group_list.as_table(example_group_list(), wide=True).encode(),
    "ls-wide-without-lag.txt": lambda: group_list.as_table(example_group_list(lag=False), wide=True).encode(),
    "show.json": show_json,
    "show.csv": lambda: group_details.as_csv(described()[0], SHOWN),
    "show-tables.txt": lambda: show_tables(wide=False),
    "show-wide-tables.txt": lambda: show_tables(wide=True),
    "incident.json": incidents,
}


@pytest.mark.parametrize("name", CASES)
def test_output_in_every_format_equals_the_stored_expected_output(name: str) -> None:
    assert CASES[name]() == (EXPECTED / name).read_bytes()


if __name__ == "__main__":
    for case, output in CASES.items():
        (EXPECTED / case).write_bytes(output())
