"""Test that no secret of a login is shown in outputs, logs, tracebacks, screens, files, processes or Spark plans.

`LOGINS` contains logins to a real broker. The client properties of each login also contain secrets that the login does
not need. Each function in `PLACES` runs kgtui, and searches several places for all secrets in the client properties.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.brokers.config import write_properties
from tests.e2e import secret_plants
from tests.e2e.secret_logins import LOGINS
from tests.e2e.secret_places import CONNECT_TOKEN, PLACES, Prepared, Tools, record_login_messages
from tests.secret_markers import Markers, add_unused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.brokers.secure import Secure
    from tests.e2e.secret_plants import Patch

FAST = ("outputs and logs", "tracebacks and crash reports", "Spark plans")
"""Keys of `PLACES`. Every test run searches these places for the secrets of every login, because this is fast."""

ALSO_FAST = {("config-providers", "command output and recordings"), ("PLAIN", "screens, exports and processes")}
"""Pairs `(login, key of PLACES)`. Every test run makes these searches too, in addition to those of `FAST`.

The searches for all other pairs run only with `tests/run --full`.
"""

SPARK = (
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
)
"""Marks for tests that use Spark. ResourceWarning is ignored, because PySpark leaves sockets open."""


def combination(login: str, places: str, *values: object, is_full: bool) -> object:
    """Return the parameters of one test (`login`, `places` and `values`) with its id and its marks.

    If `is_full` is true, the test runs only with `tests/run --full`.
    """
    marks = (*(SPARK if places == "Spark plans" else ()), *((pytest.mark.full,) if is_full else ()))
    name = "-".join(map(str, (login, places.replace(" ", "-").replace(",", ""), *(_name(value) for value in values))))
    return pytest.param(login, places, *values, id=name, marks=marks)


def _name(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.fixture
def tools(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Tools:
    """Return the pytest fixtures with which a test runs kgtui and searches its output."""
    return Tools(capfd, monkeypatch, request)


@pytest.fixture
def prepared(
    request: pytest.FixtureRequest, secure_broker: Secure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Prepared]:
    """Create the login whose name is the test parameter. Write its properties file, and create folders for kgtui."""
    inputs, home = tmp_path / "inputs", tmp_path / "home"
    inputs.mkdir()
    home.mkdir()
    with ExitStack() as stack:
        login = LOGINS[request.param](secure_broker, inputs, stack)
        add_unused(login.properties, login.secrets)
        login.secrets["token in the URL of Spark Connect"] = CONNECT_TOKEN
        config = write_properties(inputs / "client.properties", login.properties)
        for name, value in {
            "KGTUI_CONFIG_DIR": str(home / "config"),
            "KGTUI_STATE_DIR": str(home / "state"),
            **login.variables,
        }.items():
            monkeypatch.setenv(name, value)
        is_restricted = login.address == secure_broker.tls
        prepared = Prepared(login, config, home, Markers(login.secrets), secure_broker.cluster.bootstrap, is_restricted)
        record_login_messages(prepared, monkeypatch)
        yield prepared


@pytest.mark.parametrize(
    ("prepared", "places"),
    [
        combination(login, places, is_full=places not in FAST and (login, places) not in ALSO_FAST)
        for login in LOGINS
        for places in PLACES
    ],
    indirect=["prepared"],
)
def test_no_secret_of_a_login_is_shown(prepared: Prepared, places: str, tools: Tools) -> None:
    PLACES[places](prepared, tools)


PLANTS = [
    ("outputs and logs", secret_plants.in_output),
    ("outputs and logs", secret_plants.in_log),
    ("tracebacks and crash reports", secret_plants.in_traceback),
    ("tracebacks and crash reports", secret_plants.in_crash_report),
    ("command output and recordings", secret_plants.in_recording),
    ("screens, exports and processes", secret_plants.in_recording),
    ("screens, exports and processes", secret_plants.on_screen),
    ("screens, exports and processes", secret_plants.in_export),
    ("screens, exports and processes", secret_plants.in_process_list),
    ("screens, exports and processes", secret_plants.in_log),
    ("Spark plans", secret_plants.in_spark_plan),
]
"""Pairs `(key of PLACES, function)`. The function makes kgtui show a secret in one of the places of this key."""

PLANTING = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from kgtui.cli import main
from tests.e2e import secret_plants
secret_plants.{plant}(setattr, Path(__file__).with_name("planted").read_text())
sys.exit(main(sys.argv[1:]))
"""
"""A program that calls a function of `secret_plants`, which makes kgtui show a secret, and then runs kgtui."""


@pytest.mark.parametrize(
    ("prepared", "places", "plant"),
    [combination("PLAIN", places, plant, is_full=places not in FAST) for places, plant in PLANTS],
    indirect=["prepared"],
)
def test_the_checks_for_secrets_find_a_password_that_kgtui_shows(
    prepared: Prepared, places: str, plant: Callable[[Patch, str], None], tools: Tools
) -> None:
    """The function `plant` makes kgtui show the password in one place. The check of this place must find it."""
    secret = prepared.login.secrets["JAAS password"]
    plant(tools.monkeypatch.setattr, secret)
    program = prepared.config.with_name("planting.py")
    program.with_name("planted").write_text(secret)
    program.write_text(PLANTING.format(root=str(Path(__file__).parents[2]), plant=plant.__name__))
    prepared.program = (sys.executable, str(program))
    with pytest.raises(AssertionError, match=r"contains the secret of: .*JAAS password"):
        PLACES[places](prepared, tools)
