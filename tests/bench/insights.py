"""Measure the CPU time and the elapsed time of `kgtui insights` with gold tables for 100,000 groups and 30 days.

The benchmark writes all gold tables except `lag`. Only the newest day has data of its own, because kgtui must open no
other files. The files of the earlier days are hard links to the files of the newest day.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import load_deltalake
from kgtui.lake.folder import LOG, LakeFolder
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, HEALTH
from tests.bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.lake.schemas import Table

END = datetime(2026, 11, 21, tzinfo=UTC)
"""End of the newest day in the gold tables."""

_DAY = END - timedelta(days=1)
_FAMILIES = 400
_UNHEALTHY, _BEHIND, _UNUSED = 100, 20, 5
"""Every 100th group is unhealthy, the lag of every 20th group grows, and every 5th family is unused.

A family is the groups with the same prefix, such as `team-005.*`. In an unused family, all groups are unused.
"""

_CHUNK = 10_000
"""Maximum number of groups whose rows are written to one file of a table."""

_NOT_NULL: dict[str, Any] = {"string": "recorded", "boolean": False, "long": 0, "int": 0, "double": 0.0}
_TIME = pa.timestamp("us", tz="UTC")
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark: numbers of groups and days in the gold tables."""

    groups: int = 100_000
    days: int = 30


QUICK = Size(20_000, 30)
TINY = Size(400, 3)


def figures(size: Size) -> Iterator[Figure]:
    """Yield CPU time and elapsed time of `kgtui insights`, including the start of Python."""
    with tempfile.TemporaryDirectory(prefix="kgtui-bench-") as folder:
        lake = write_gold(Path(folder) / "lake", size.groups, size.days)
        rounds = [_measure("insights", f"--lake={lake}") for _ in range(_ROUNDS)]
        cpu, elapsed = (min(values) for values in zip(*rounds, strict=True))
        start, _ = _measure("--version")
        what = f"kgtui insights, {size.groups:,} groups, {size.days} days"
        yield Figure(f"{what}: CPU time", cpu, "s", "kgtui --version", start, None)
        yield Figure(f"{what}: elapsed time", elapsed, "s", target=2.0)


def _measure(*words: str) -> tuple[float, float]:
    """Run kgtui, and return its CPU time and its elapsed time in seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "kgtui", *words], stdout=subprocess.DEVNULL, check=True)
    after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def write_gold(path: Path, groups: int, days: int) -> Path:
    """Create a lake with the gold tables `health`, `baseline`, `forecast`, `churn` and `cleanup`, and return `path`."""
    folder = LakeFolder.of(path)
    folder.prepare()
    names = sorted(f"team-{number % _FAMILIES:03d}.service-{number:06d}" for number in range(groups))
    for first in range(0, groups, _CHUNK):
        numbers = np.arange(first, min(first + _CHUNK, groups))
        for table, columns in _columns(names, numbers):
            _append(folder, table, columns)
    for table in (HEALTH, BASELINE, FORECAST, CHURN, CLEANUP):
        _add_earlier_days(path / table.layer / table.name, days)
    return path


def _columns(names: list[str], numbers: np.ndarray[Any, Any]) -> Iterator[tuple[Table, dict[str, Any]]]:
    """For each gold table except `lag`, yield the table and the values of its columns for some of the groups.

    The values are a dict: column name → array with one value per row, or a single value for all rows.

    Args:
        names: ids of all groups.
        numbers: indexes in `names` of the groups that get rows.
    """
    some = pa.array([names[number] for number in numbers])

    def slots(seconds: int, selected: np.ndarray[Any, Any]) -> tuple[Any, Any, dict[str, Any]]:
        count = 86_400 // seconds
        index, start = np.repeat(selected, count), np.tile(np.arange(count), len(selected)) * seconds * 1_000_000
        at = start + int(_DAY.timestamp()) * 1_000_000
        end = pa.array(at + seconds * 1_000_000 - 1_000_000, _TIME)
        return index, pa.array(at, _TIME), {"group": some.take(pa.array(index)), "covered_to": end}

    everyone = np.arange(len(numbers))
    index, start, columns = slots(300, everyone)
    bad = numbers[index] % _UNHEALTHY == 0
    since = pa.array(np.full(len(bad), int(_DAY.timestamp() * 1e6)), _TIME)
    yield (
        HEALTH,
        columns
        | {
            "window_start": start,
            "status": pa.array(np.where(bad, "WARN", "OK")),
            "worst": pa.compute.if_else(pa.array(bad), "WARN", None),
            "affected": pa.array(bad.astype(np.int32)),
            "bad_since": pa.compute.if_else(pa.array(bad), since, pa.scalar(None, _TIME)),
            "lag": pa.array(numbers[index] * 7_919 % 100_000 + np.arange(len(index)) % 288),
        },
    )
    index, start, columns = slots(3_600, everyone)
    noise = np.random.default_rng(int(numbers[0])).normal(0, 1, len(index))
    values = {
        f"{name}{suffix}": pa.array(noise * factor)
        for name in ("lag", "rate_in", "rate_out")
        for suffix, factor in (("", 100.0), ("_normal", 90.0), ("_deviation", 0.7))
    }
    yield BASELINE, columns | values | {"hour": start, "lag_spread": pa.array(np.abs(noise))}
    index, start, columns = slots(3_600, everyone[numbers % _BEHIND == 0])
    yield FORECAST, columns | {"hour": start, "lag": 1_000, "trend": 1.0, "trend_error": 0.1, "lost": 0}
    flapping = pa.array(numbers[index] % (20 * _BEHIND) == 0)
    yield CHURN, columns | {"hour": start, "rebalances": 20, "per_hour": 20.0, "flapping": flapping}
    unused = pa.array([name for name in some.to_pylist() if int(name[5:8]) % _UNUSED == 0])
    family = pa.array([f"{name.partition('.')[0]}.*" for name in unused.to_pylist()])
    yield CLEANUP, {
        "kind": "group", "name": unused, "family": family, "groups": 1, "covered_to": END, "quiet_since": _DAY
    }  # fmt: skip
    if numbers[0] == 0:
        families = pa.array([f"team-{number:03d}.*" for number in range(0, _FAMILIES, _UNUSED)])
        yield CLEANUP, {
            "kind": "family", "name": families, "groups": 250, "covered_to": END, "quiet_since": _DAY
        }  # fmt: skip


def _append(folder: LakeFolder, table: Table, columns: dict[str, Any]) -> None:
    count = max(len(value) for value in columns.values() if isinstance(value, pa.Array))
    if not count:
        return
    values = []
    for column, field in zip(table.columns, arrow_schema(table), strict=True):
        value = _DAY.date() if column.name == "day" else columns.get(column.name)
        if isinstance(value, pa.Array):
            values.append(value.cast(field.type))
        elif value is None and field.nullable:
            values.append(pa.nulls(count, field.type))
        else:
            value = _not_null(column.type) if value is None else value
            values.append(pa.repeat(pa.scalar(value, field.type), count))
    rows = pa.table(values, schema=arrow_schema(table))
    place = str(folder.table(table.name, table.layer))
    load_deltalake().write_deltalake(place, rows, mode="append", partition_by=["day"])


def _not_null(kind: str) -> Any:
    return _DAY if kind == "timestamp" else _NOT_NULL[kind]


def _add_earlier_days(table: Path, days: int) -> None:
    """Add earlier days to a Delta table that contains one day.

    The files of the earlier days are hard links to the files of the existing day. In Delta's log, the statistics of
    each link contain the dates of the earlier day.
    """
    deltalake = load_deltalake()
    from deltalake.transaction import AddAction

    lines = [line for log in sorted((table / LOG).glob("*.json")) for line in log.read_text().splitlines()]
    files = [json.loads(line)["add"] for line in lines if '"add"' in line]
    newest, actions = _DAY.date().isoformat(), []
    for back in range(1, days):
        day = (_DAY - timedelta(days=back)).date().isoformat()
        (table / f"day={day}").mkdir()
        for file in files:
            name = file["path"].replace(newest, day)
            os.link(table / file["path"], table / name)
            stats = re.sub(r"\d{4}-\d\d-\d\dT", partial(_earlier, back), file["stats"])
            actions.append(AddAction(name, file["size"], {"day": day}, file["modificationTime"], True, stats))
    delta = deltalake.DeltaTable(str(table))
    delta.create_write_transaction(actions, "append", delta.schema(), ["day"])
    delta.create_checkpoint()


def _earlier(days: int, found: re.Match[str]) -> str:
    """Subtract `days` days from the date in the regex match `found`. Date and result have the form `2026-11-20T`."""
    return f"{datetime.fromisoformat(found.group()[:-1]).date() - timedelta(days=days)}T"
