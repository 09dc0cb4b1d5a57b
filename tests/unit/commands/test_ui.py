"""Tests of starting the terminal UI: choosing the cluster, reading the settings, and running `kgtui demo`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from kgtui.commands import sessions, ui
from kgtui.commands.parser import build
from kgtui.commands.sessions import SessionOpener
from kgtui.config import Target
from kgtui.errors import UnreachableError
from kgtui.simulator import Simulator

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.tui.session import Session


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("KGTUI_STATE_DIR", str(tmp_path / "state"))
    for name in ("CLUSTER", "BOOTSTRAP_SERVER", "COMMAND_CONFIG", "READ_ONLY", "THEME", "INTERVAL", "ASCII", "UTC"):
        monkeypatch.delenv(f"KGTUI_{name}", raising=False)
    return tmp_path


async def first(stack: AsyncExitStack, *words: str) -> Session:
    """Return the first session of the terminal UI for the command-line arguments `words`.

    A session has the settings of the terminal UI and usually an open cluster. Without an open cluster, the attributes
    `monitor` and `admin` of the session are None.
    """
    return await SessionOpener(build().parse_args(words), stack).first()


async def test_ui_session_for_a_bootstrap_server_opens_without_waiting_for_brokers() -> None:
    async with AsyncExitStack() as stack:
        session = await first(stack, "--bootstrap-server", "127.0.0.1:1,[::1]:2", "--filter", "lag:1k+", "--read-only")
        assert session.monitor is not None
        assert (session.target.name, session.target.bootstrap) == ("127.0.0.1:1", "127.0.0.1:1,[::1]:2")
        assert (session.filter, session.read_only, session.failed_attempts) == ("lag:1k+", True, ())


async def test_ui_without_a_configured_cluster_lists_failed_connection_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(_target: object) -> tuple[tuple[str, str], ...]:
        return (("localhost:9092", "refused"),)

    monkeypatch.setattr(sessions, "_failed_attempts", silent)
    async with AsyncExitStack() as stack:
        session = await first(stack)
        assert session.monitor is None
        assert session.admin is None
        assert session.failed_attempts == (("localhost:9092", "refused"),)
        assert session.open_address is not None
        assert session.open_demo is not None


async def test_command_line_options_override_settings_of_the_configuration_file(folder: Path) -> None:
    (folder / "config.toml").write_text(
        """
        default = "prod"
        [clusters.prod]
        bootstrap = "127.0.0.1:1"
        command_config = "prod.properties"
        read_only = true
        color = "red"
        environment = "PROD"
        [ui]
        theme = "nord"
        interval = 7
        utc = true
        [keys]
        refresh = "f5"
        [presets]
        stuck = "lag:1k+"
        """
    )
    (folder / "prod.properties").write_text("client.id=me\n")
    async with AsyncExitStack() as stack:
        session = await first(stack)
        target = session.target
        assert (target.name, target.color, target.environment) == ("prod", "red", "PROD")
        assert target.command_config == "prod.properties"
        assert session.read_only
        assert session.ui.theme == "nord"
        assert (session.keymap, session.presets) == ({"refresh": "f5"}, {"stuck": "lag:1k+"})
        assert session.display is not None
        assert session.display.utc
        assert session.monitor is not None
        assert session.monitor.interval == 7
        assert session.themes_folder == folder / "themes"
        flagged = await first(stack, "--theme", "light", "--interval", "3", "--ascii", "--no-mouse")
        assert (flagged.ui.theme, flagged.mouse) == ("light", False)
        assert flagged.display is not None
        assert flagged.display.ascii
        assert flagged.monitor is not None
        assert flagged.monitor.interval == 3


async def test_cluster_address_typed_by_the_user_is_opened_only_if_a_broker_responds() -> None:
    async with AsyncExitStack() as stack, Simulator(brokers=1, scenario="empty") as cluster:
        opener = SessionOpener(build().parse_args([]), stack)
        with pytest.raises(UnreachableError) as caught:
            await opener.connect("127.0.0.1:1")
        assert caught.value.attempts
        session = await opener.connect(cluster.bootstrap)
        assert session.monitor is not None
        assert session.target.bootstrap == cluster.bootstrap


async def test_simulated_cluster_stops_when_the_terminal_ui_closes() -> None:
    async with AsyncExitStack() as stack:
        session = await SessionOpener(build().parse_args(["demo", "--brokers", "1"]), stack).demo()
        assert session.target.name == "demo"
        assert session.admin is not None
        info = await session.admin.cluster(timeout=10)
        assert len(info.brokers) == 3
    assert await sessions._failed_attempts(Target("demo", tuple(session.target.bootstrap.split(",")))) != ()


def test_terminal_ui_exits_with_an_error_message_if_there_is_no_terminal() -> None:
    """Textual draws on stderr. In a cron job, for example, stderr is not a terminal."""
    refused = subprocess.run(
        [sys.executable, "-m", "kgtui", "demo"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "needs a terminal" in refused.stderr
    assert "kgtui ls" in refused.stderr
    assert refused.stdout == ""


CLUSTERS = """
    default = "prod"
    [clusters.prod]
    bootstrap = "127.0.0.1:1"
    command_config = "prod.properties"
    read_only = true
    color = "red"
    environment = "PROD"
    [clusters.staging]
    bootstrap = ["127.0.0.1:2", "127.0.0.1:3"]
    "client.idd" = "me"
"""


async def test_user_can_switch_to_a_configured_cluster_even_if_no_broker_responds(folder: Path) -> None:
    (folder / "config.toml").write_text(CLUSTERS)
    (folder / "prod.properties").write_text("client.id=me\n")
    async with AsyncExitStack() as stack:
        session = await first(stack, "--filter", "lag:1k+")
        clusters = [(one.name, one.bootstrap, one.color, one.environment, one.read_only) for one in session.clusters]
        assert clusters == [
            ("prod", "127.0.0.1:1", "red", "PROD", True),
            ("staging", "127.0.0.1:2,127.0.0.1:3", None, "", False),
        ]
        assert session.open_cluster is not None
        other = await session.open_cluster("staging")
        assert (other.target.name, other.target.bootstrap, other.target.command_config) == (
            "staging", "127.0.0.1:2,127.0.0.1:3", None,
        )  # fmt: skip
        assert (other.read_only, other.filter) == (False, "")
        assert other.monitor is not None
        assert other.admin is not session.admin
        assert ["client.idd" in warning for warning in other.warnings] == [True]
        assert session.close is not None
        await session.close()
        again = await session.open_cluster("prod")
        assert (again.read_only, again.target.command_config) == (True, "prod.properties")


async def test_command_config_is_used_only_for_the_cluster_of_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file given with `--command-config` can contain passwords, which must not be sent to other clusters.

    `--read-only` applies to all clusters.
    """
    (folder / "config.toml").write_text(CLUSTERS)
    secret = folder / "secret.properties"
    secret.write_text("sasl.no.such.key=1\n")
    monkeypatch.setenv("KGTUI_COMMAND_CONFIG", str(secret))
    words = ("--bootstrap-server", "127.0.0.1:9", "--command-config", str(secret), "--read-only")
    async with AsyncExitStack() as stack:
        session = await first(stack, *words)
        assert ["sasl.no.such.key" in warning for warning in session.warnings] == [True]
        assert [one.name for one in session.clusters] == ["prod", "staging", "127.0.0.1:9"]
        assert all(one.read_only for one in session.clusters)
        assert session.open_cluster is not None
        other = await session.open_cluster("staging")
        assert not any("sasl.no.such.key" in warning for warning in other.warnings)
        assert (other.target.command_config, other.read_only) == (None, True)
        back = await session.open_cluster("127.0.0.1:9")
        assert ["sasl.no.such.key" in warning for warning in back.warnings] == [True]
        assert back.target.command_config == str(secret)


async def test_kgtui_demo_offers_other_clusters_only_if_some_are_configured(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        opener = SessionOpener(build().parse_args([]), stack)
        assert (await opener.demo()).open_cluster is None
    (folder / "config.toml").write_text(CLUSTERS)
    async with AsyncExitStack() as stack:
        session = await SessionOpener(build().parse_args([]), stack).demo()
        assert session.open_cluster is not None
        assert [one.name for one in session.clusters] == ["prod", "staging", "demo"]


async def test_kgtui_already_polls_groups_while_it_imports_the_terminal_ui_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Because kgtui polls so early, its first screen can show groups. kgtui polls until the terminal UI closes."""
    sessions_opened: list[Session] = []

    async def until_listed(session: Session) -> int:
        assert session.monitor is not None
        listed = asyncio.Event()
        session.monitor.subscribe(lambda snapshot: listed.set() if snapshot.groups else None)
        async with asyncio.timeout(60):
            await listed.wait()
        sessions_opened.append(session)
        return 7

    monkeypatch.setattr("kgtui.tui.app.run_async", until_listed)
    async with Simulator() as cluster:
        args = build().parse_args(["--bootstrap-server", cluster.bootstrap])
        assert await ui._run(args, None) == 7
    assert sessions_opened[0].monitor_task is not None
    assert sessions_opened[0].monitor_task.done()
