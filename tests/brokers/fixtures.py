"""Pytest fixtures for real brokers.

pytest-xdist runs all tests of an xdist group in the same worker. All brokers that these tests need are started together
in the background. The brokers of `FULL_BROKER_VERSIONS`, which are tested with `--full`, are an exception: only one of
them runs at a time. A broker is stopped after the last test that needs it, because even an idle broker uses CPU time.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.brokers import tools
from tests.jars import ALL_BROKER_VERSIONS, BROKER_VERSIONS, FULL_BROKER_VERSIONS

if TYPE_CHECKING:
    # At run time, `Cluster`, `Live` and `Secure` are imported only if a test needs a broker, because they import
    # Kafka client libraries.
    from collections.abc import Callable, Generator, Iterable, Iterator
    from pathlib import Path

    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure


def named(kind: str, version: str) -> str:
    """Return the fixture name of a broker (kind `broker`) or of its live groups (kind `live`), such as `live_431`."""
    return f"{kind}_{version.replace('.', '')}"


def only_full(version: str) -> list[pytest.MarkDecorator]:
    """Return a list with the pytest mark `full` if `version` is tested only with `--full`; else, an empty list."""
    return [pytest.mark.full] if version in FULL_BROKER_VERSIONS else []


LIVE = tuple(named("live", version) for version in BROKER_VERSIONS)
NAMES = (*LIVE, "secure_broker", *(named("broker", version) for version in BROKER_VERSIONS))
"""Names of the fixtures for brokers and for live groups, in the order in which they are started (slowest first).

Starting `live_431` also starts the broker of `broker_431`, because the live groups are on this broker.
"""

_FULL_VERSION = {named(kind, version): version for version in FULL_BROKER_VERSIONS for kind in ("live", "broker")}
"""Fixtures that only `tests/run --full` uses: name → Kafka version, such as `live_440` → `4.4.0`."""

_BROKERS = pytest.StashKey["Brokers"]()
_RUNNING_GROUP = pytest.StashKey[str]()

_KIND = {"broker": "broker", "live": "live", "newest_live": "live"}
"""Maps the name of each fixture that runs a test once per Kafka version to the kind of object that the test gets.

The kind `broker` is a broker, and the kind `live` is the live groups on a broker.
"""

_ON_ALL_VERSIONS = [pytest.param(version, marks=only_full(version)) for version in ALL_BROKER_VERSIONS]


# Other pytest plugins implement the same hook. This function adds marks before the other implementations of the hook
# run, and sorts the tests after the other implementations have run.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Put tests with real brokers in the xdist group `broker`, so that one worker starts each broker for all of them.

    Exceptions are tests with an xdist group of their own, and Spark tests, which run in the worker of all Spark tests.
    """
    for item in items:
        if requested_by(item):
            item.add_marker(pytest.mark.broker)
            if not item.get_closest_marker("xdist_group"):
                # Run all tests that use Spark in the same xdist worker, so that only one JVM with Spark is started.
                uses_spark = "spark" in getattr(item, "fixturenames", ())
                item.add_marker(pytest.mark.xdist_group("spark" if uses_spark else "broker"))
    yield
    # Run the tests with the versions in `FULL_BROKER_VERSIONS` last, sorted by version, because `Brokers` runs only one
    # of these versions at a time.
    order = ("", *FULL_BROKER_VERSIONS)
    items.sort(key=lambda item: max(order.index(_FULL_VERSION.get(name, "")) for name in requested_by(item) or {""}))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Store the xdist group of the test that starts, so that the fixture `brokers` knows which brokers to start."""
    item.session.stash[_RUNNING_GROUP] = group_of(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Stop the brokers that no later test needs."""
    yield
    brokers = item.session.stash.get(_BROKERS, None)
    if brokers is not None:
        brokers.note_end_of(item)


def group_of(item: pytest.Item) -> str:
    """Return the xdist group of a test; an empty string if there is none."""
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else ""


def pytest_unconfigure() -> None:
    """Stop the JVMs that run Kafka's command line tools."""
    tools.stop()


def requested_by(item: pytest.Item) -> set[str]:
    """Return the names of the fixtures for brokers and live groups that a test needs.

    These are fixtures that the test uses, and fixtures that its marker `broker` names.
    """
    names = {*getattr(item, "fixturenames", ())}
    for marker in item.iter_markers("broker"):
        names.update(marker.args)
    for fixture in names & _KIND.keys():
        names.add(named(_KIND[fixture], item.callspec.params[fixture]))  # type: ignore[attr-defined]
    return names.intersection((*NAMES, *_FULL_VERSION))


class Brokers:
    """Starts brokers, and live groups on them, in the background. Nothing is started twice.

    The argument `name` of a method is a fixture name in `NAMES` or in `_FULL_VERSION`.

    Args:
        folder: folder for the data of the brokers.
        begun_groups: folder, shared by all xdist workers, with an empty file for each xdist group that has begun.
        tests: all tests; those that need no broker are ignored.
    """

    def __init__(self, folder: Path, begun_groups: Path, tests: Iterable[pytest.Item]) -> None:
        self._folder = folder
        self._waiting = {test: names for test in tests if (names := requested_by(test))}
        self._begun_groups = begun_groups
        self._begun_groups.mkdir(exist_ok=True)
        self._own_groups: set[str] = set()
        self._pool = ThreadPoolExecutor(max_workers=5, thread_name_prefix="brokers")
        self._lock = threading.Lock()
        self._started: dict[str, Future[Any]] = {}
        self._running: dict[str, Cluster | Live | Secure] = {}
        self._make: dict[str, Callable[[], Cluster | Live | Secure]] = {"secure_broker": self._secure}
        for version in ALL_BROKER_VERSIONS:
            self._make[named("broker", version)] = partial(self._cluster, version)
            self._make[named("live", version)] = partial(self._live, version)

    def start(self, name: str) -> Future[Any]:
        """Start the broker or the live groups of the fixture `name` in the background, unless they already run."""
        with self._lock:
            if name not in self._started:
                self._started[name] = self._pool.submit(self._run, name)
            return self._started[name]

    def get(self, name: str) -> Any:
        """Wait until the broker or the live groups of the fixture `name` are ready, and return them."""
        # Only one of the versions in `FULL_BROKER_VERSIONS` runs at a time, so stop the brokers of the other versions.
        if name in _FULL_VERSION:
            version = _FULL_VERSION[name]
            self._stop(lambda other: _FULL_VERSION.get(other, version) != version)
        return self.start(name).result()

    def write_coordinator_records(self, name: str) -> None:
        """Call `coordinator_records.write_records` in the background, with the live groups of the fixture `name`."""
        from tests.brokers import coordinator_records

        self._pool.submit(lambda: coordinator_records.write_records(self.get(name)))

    def begin(self, group: str) -> None:
        """Start the brokers and live groups in `NAMES` that the tests of the xdist group `group` need.

        This process must be the worker that runs the tests of the group.
        """
        self._note_begin_of(group)
        needed = set().union(*(names for test, names in self._waiting.items() if group_of(test) == group))
        for name in NAMES:
            if name in needed:
                self.start(name)

    def note_end_of(self, test: pytest.Item) -> None:
        """After a test, stop all brokers and live groups that no later test in this process needs.

        Ignore the tests of xdist groups that another worker has begun, because a worker runs all tests of its xdist
        groups.
        """
        if self._waiting.pop(test, None) is None:
            return
        self._note_begin_of(group_of(test))
        elsewhere = {path.name for path in self._begun_groups.iterdir()} - self._own_groups
        names = set().union(*(names for test, names in self._waiting.items() if group_of(test) not in elsewhere))
        # Live groups that are still needed also need the broker on which they run.
        needed = {*names, *(name.replace("live_", "broker_") for name in names)}
        self._stop(lambda name: name not in needed)

    def stop(self) -> None:
        """Stop everything that was started: first the members of the live groups, then the brokers."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for running in reversed(self._running.values()):
            running.stop()

    def _run(self, name: str) -> Cluster | Live | Secure:
        started = self._make[name]()
        started.start()
        with self._lock:
            self._running[name] = started
        return started

    def _note_begin_of(self, group: str) -> None:
        """Create a file that tells the other xdist workers that this worker runs the tests of an xdist group."""
        if group not in self._own_groups:
            self._own_groups.add(group)
            (self._begun_groups / group).touch()

    def _stop(self, is_unneeded: Callable[[str], bool]) -> None:
        """Stop live groups, and then brokers, if `is_unneeded` returns true for the name of their fixture."""
        with self._lock:
            others = {name: self._started.pop(name) for name in [*self._started] if is_unneeded(name)}
        wait(others.values())
        for name in [name for name in reversed(self._running) if name in others]:
            self._running.pop(name).stop()

    def _cluster(self, version: str) -> Cluster:
        from tests.brokers.cluster import Cluster

        return Cluster(version, self._folder / version)

    def _live(self, version: str) -> Live:
        from tests.brokers.live import Live

        return Live(self.get(named("broker", version)))

    def _secure(self) -> Secure:
        from tests.brokers.secure import Secure

        return Secure(self._folder / "secure")


@pytest.fixture(scope="session")
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Return an object that starts brokers, and start the brokers that the tests of the running xdist group need.

    Each broker is stopped after the last test that needs it, or at the end of the test run.
    """
    # pytest-xdist gives each worker its own temporary folder. All workers share the parent of these folders.
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    brokers = Brokers(tmp_path_factory.mktemp("brokers"), shared / "begun-groups", request.session.items)
    request.session.stash[_BROKERS] = brokers
    brokers.begin(request.session.stash[_RUNNING_GROUP])
    yield brokers
    brokers.stop()


@pytest.fixture(scope="session")
def broker_431(brokers: Brokers) -> Cluster:
    """Return a Kafka 4.3.1 broker without authentication, TLS or authorizer."""
    cluster: Cluster = brokers.get("broker_431")
    return cluster


@pytest.fixture(scope="session")
def broker_392(brokers: Brokers) -> Cluster:
    """Return a Kafka 3.9.2 broker without authentication, TLS or authorizer, on which KIP-848 groups are enabled."""
    cluster: Cluster = brokers.get("broker_392")
    return cluster


@pytest.fixture(scope="session", params=_ON_ALL_VERSIONS)
def broker(request: pytest.FixtureRequest, brokers: Brokers) -> Cluster:
    """Run a test once with `broker_431` and once with `broker_392`; with `--full`, also with more versions."""
    cluster: Cluster = brokers.get(named("broker", request.param))
    return cluster


@pytest.fixture(scope="session")
def live_431(brokers: Brokers) -> Live:
    """Return the live groups on the 4.3.1 broker: groups of every type, which do not change during the tests."""
    live: Live = brokers.get("live_431")
    return live


@pytest.fixture(scope="session")
def live_392(brokers: Brokers) -> Live:
    """Return the live groups on the 3.9.2 broker, which do not change during the tests.

    There are groups of every type that Kafka 3.9.2 supports.
    """
    live: Live = brokers.get("live_392")
    return live


@pytest.fixture(scope="session", params=_ON_ALL_VERSIONS)
def live(request: pytest.FixtureRequest, brokers: Brokers) -> Live:
    """Run a test once per broker of the fixture `broker`, with the live groups on this broker.

    Live groups are test groups whose members and offsets do not change during the tests.
    """
    live: Live = brokers.get(named("live", request.param))
    return live


@pytest.fixture(
    scope="session",
    params=[BROKER_VERSIONS[0], *(pytest.param(v, marks=pytest.mark.full) for v in ALL_BROKER_VERSIONS[1:])],
)
def newest_live(request: pytest.FixtureRequest, brokers: Brokers) -> Live:
    """Run a slow test with the live groups (groups that do not change) on the newest broker, Kafka 4.3.1.

    With `--full`, run the test once per Kafka version.
    """
    live: Live = brokers.get(named("live", request.param))
    return live


@pytest.fixture(scope="session")
def secure_broker(brokers: Brokers) -> Secure:
    """Return a Kafka 4.3.1 broker with an authorizer, SASL and TLS."""
    secure: Secure = brokers.get("secure_broker")
    return secure


def checked(request: pytest.FixtureRequest, name: str) -> Any:
    """Return the broker or the live groups of the fixture `name`, for tests that choose a fixture at run time.

    The test must have the marker `broker(name)`, so that the broker is started early.
    """
    assert name in requested_by(request.node), f"{request.node.nodeid} needs the marker broker({name!r})"
    brokers: Brokers = request.getfixturevalue("brokers")
    return brokers.get(name)
