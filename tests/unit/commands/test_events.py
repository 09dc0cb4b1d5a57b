"""Tests of `kgtui events`: the output for a cluster and for a recording, the selection of events, and exit codes."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.cli import main
from kgtui.commands.events import watch
from kgtui.commands.parser import parse_args
from kgtui.commands.selection import query_of
from kgtui.model.access import Access
from kgtui.simulator import Options, SimulatorProcess, spawn
from tests.scripted import ScriptedAdmin, member
from tests.unit.commands.runs import kgtui
from tests.unit.history.test_recorded_events import EXPECTED, LIFE
from tests.unit.history.test_recording_reader import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NUMBER_OF_EVENTS = sum(map(len, EXPECTED))


class Watched:
    """A run of `kgtui events` on a fake cluster (`ScriptedAdmin`), in an asyncio task of the test process.

    Args:
        words: filter and options of the command.
    """

    def __init__(self, admin: ScriptedAdmin, capfd: pytest.CaptureFixture[str], *words: str) -> None:
        self.admin, self._capfd, self.out, self.err = admin, capfd, "", ""
        args = parse_args(["events", "--timeout", "5", *words])
        args.seconds, args.interval = None, 0.5
        self.task = asyncio.create_task(watch(args, admin, query_of(args)))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until the function `holds` returns True. Raise TimeoutError after 60 s."""
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.05)
                out, err = self._capfd.readouterr()
                self.out, self.err = self.out + out, self.err + err
                assert not self.task.done()

    async def first_read(self) -> None:
        """Wait until kgtui has read the groups once. kgtui prints events only for changes after this read."""
        await self.until(lambda: any(call == "describe_groups" for call, _ in self.admin.calls))
        await asyncio.sleep(0.1)

    async def end(self) -> None:
        """Cancel the command, as Ctrl-C does."""
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.fixture
def admin() -> ScriptedAdmin:
    admin = ScriptedAdmin()
    admin.add("orders", "consumer", members=(member("m-1"),), lag=5)
    admin.add("billing", "classic")
    return admin


async def test_kgtui_events_prints_each_event_when_it_happens(
    admin: ScriptedAdmin, capfd: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(admin, capfd)
    await watched.first_read()
    assert watched.out == ""
    admin.add("orders", "consumer", state="Empty", lag=5)
    await watched.until(lambda: all(kind in watched.out for kind in (" state ", " left ", " verdict ")))
    admin.add("two\nlines")
    await watched.until(lambda: "two\\nlines" in watched.out)
    await watched.end()
    heading, *rows = watched.out.splitlines()
    assert heading.split() == ["TIME", "EVENT", "GROUP", "WHAT"]
    assert {row[heading.index("WHAT") :] for row in rows} == {
        "Stable → Empty", "client at /127.0.0.1 left", "group appeared: classic, Stable, broker 1",
        "OK → stopped: all members left, 5 unread",
    }  # fmt: skip


@pytest.mark.parametrize("operations", [frozenset[str](), frozenset({"DESCRIBE"})])
async def test_kgtui_events_says_that_no_groups_are_visible_to_the_user(
    capfd: pytest.CaptureFixture[str], operations: frozenset[str]
) -> None:
    """The message "there is no group that you are allowed to see" is only for users without DESCRIBE on the cluster.

    A user with DESCRIBE on the cluster can see all groups, so for this user the cluster is known to have no groups.
    """
    admin = ScriptedAdmin(user_access=Access(operations, any_topic=True))
    watched = Watched(admin, capfd)
    await watched.until(lambda: sum(call == "poll" for call, _ in admin.calls) > 2 * len(admin.brokers))
    await watched.end()
    assert ("there is no group that you are allowed to see" in watched.err) is not bool(operations)


@pytest.mark.parametrize("words", [["ordesr"], ["--group", "ordesr"]])
async def test_kgtui_events_waits_until_a_group_matches_the_filter(
    capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    admin = ScriptedAdmin()
    admin.add("orders", members=(member(),))
    run = Watched(admin, capfd, *words)
    await run.until(lambda: "waiting for groups that match" in run.err)
    assert "similar: orders" in run.err
    admin.add("ordesr", members=(member(),))
    await run.until(lambda: "group appeared" in run.out)
    await run.end()


async def test_kgtui_events_json_has_all_attributes_of_an_event_in_one_line(
    admin: ScriptedAdmin, capfd: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(admin, capfd, "--format", "json", "--kind", "joined")
    await watched.first_read()
    admin.add("orders", "consumer", members=(member("m-1"), member("m-2", client_id="c-2")))
    await watched.until(lambda: "\n" in watched.out)
    await watched.end()
    (line,) = watched.out.splitlines()
    event: dict[str, Any] = json.loads(line)
    assert event.pop("at").endswith("Z")
    assert event == {
        "version": 1, "kind": "joined", "group": "orders", "type": "consumer", "protocol": "consumer",
        "state": "Stable", "coordinator": 1, "broker": None, "before": None, "after": "m-2",
        "subject": "c-2 at /127.0.0.1", "count": 1, "text": "c-2 at /127.0.0.1 joined",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "selected"),
    [
        (("orders",), {"orders"}),
        (("type:classic",), {"billing", "gone"}),
        (("not:gone", "state:Empty"), {"orders", "billing"}),
        (("--group", "gone"), {"gone"}),
        (("members:5+",), set()),
    ],
)
async def test_kgtui_events_filter_can_select_events_of_deleted_groups(
    admin: ScriptedAdmin, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], selected: set[str]
) -> None:
    admin.add("gone", "classic", state="Empty")
    watched = Watched(admin, capfd, "--format", "json", *words)
    await watched.first_read()
    for group, group_type in (("orders", "consumer"), ("billing", "classic")):
        admin.add(group, group_type, state="Empty")
    del admin.groups["gone"]
    await asyncio.sleep(1.2)
    await watched.until(lambda: True)
    await watched.end()
    watched.out += capfd.readouterr().out
    found = [json.loads(line) for line in watched.out.splitlines()]
    assert {event["group"] for event in found} == selected


async def test_kgtui_events_reads_group_configs_if_the_filter_matches_exactly_one_group(
    admin: ScriptedAdmin, capfd: pytest.CaptureFixture[str]
) -> None:
    watched = Watched(admin, capfd, "orders")
    await watched.until(lambda: ("group_configs", ("orders",)) in admin.calls)
    await watched.end()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), NUMBER_OF_EVENTS),
        (("pay",), NUMBER_OF_EVENTS - 2),
        (("--kind", "joined", "--kind", "left"), 5),
        (("--kind", "joined,left"), 5),
        (("--for", "25s"), sum(map(len, EXPECTED[-3:]))),
        (("--at", "2026-11-21T08:33:50Z", "--for", "10s"), 1),
        (("--group", "other"), 0),
    ],
)
def test_kgtui_events_prints_the_recorded_events_that_the_options_select(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], expected: int
) -> None:
    write(tmp_path, *LIFE, keyframes=(4,))
    assert main(["events", "--lake", str(tmp_path), "--format", "json", *words]) == 0
    out, err = capfd.readouterr()
    assert (len(out.splitlines()), err) == (expected, "")


def test_kgtui_events_exits_with_1_if_no_recorded_event_matches(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, *LIFE)
    assert main(["events", "--lake", str(tmp_path), "paymnets"]) == 1
    assert "no group matches the filter" in capfd.readouterr().err
    assert main(["events", "--lake", str(tmp_path), "paymnets", "--allow-empty"]) == 0


def test_kgtui_events_prints_a_table_of_recorded_events(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, *LIFE)
    assert main(["events", "--lake", str(tmp_path)]) == 0
    heading, *rows = capfd.readouterr().out.splitlines()
    start = heading.index("WHAT")
    # The column EVENT contains the kind of the event, so the text in the column WHAT does not begin with the kind.
    kinds = re.compile("state |coordinator: |group epoch ")
    assert [row[start:] for row in rows] == [kinds.sub("", text, count=1) for texts in EXPECTED for text in texts]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--lake", "x", "--interval", "1s"), "--interval cannot be used with --lake"),
        (("--at", "10:04"), "--at needs --lake"),
        (("--for", "never"), "--for"),
        (("--interval", "0.1s"), "--interval must be at least 0.5 s"),
        (("--kind", "joking"), "invalid choice: 'joking'"),
        (("orders", "--group", "orders"), "cannot be used together"),
    ],
)
def test_kgtui_events_reports_wrong_options_in_one_line(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["events", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatorProcess]:
    process = spawn(Options(groups=20, brokers=2, seed=9))
    yield process
    process.stop()


WAITING = (
    b"kgtui: no group matches the filter; to find out why, run kgtui doctor nobody\n"
    b"kgtui: waiting for groups that match; press Ctrl-C to end\n"
)


def test_kgtui_events_exits_after_the_requested_duration_or_if_no_broker_responds(
    cluster: SimulatorProcess,
) -> None:
    done = kgtui("events", "nobody", "--for", "1s", "--bootstrap-server", cluster.bootstrap)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.encode() in (b"", WAITING)
    assert kgtui("events", "--bootstrap-server", "127.0.0.1:1").returncode == 3


@pytest.mark.parametrize("close", [False, True], ids=["Ctrl-C", "closed pipe"])
def test_kgtui_events_prints_no_error_after_ctrl_c_or_a_closed_pipe(cluster: SimulatorProcess, close: bool) -> None:
    """No group matches, so kgtui never writes to the pipe. kgtui must notice that the pipe is closed nevertheless."""
    words = ["events", "nobody", "--bootstrap-server", cluster.bootstrap]
    with subprocess.Popen(
        [sys.executable, "-m", "kgtui", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2.0)
        if close:
            process.stdout.close()
        else:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == (141 if close else 130)
        assert process.stderr is not None
        assert process.stderr.read() in (b"", WAITING)
