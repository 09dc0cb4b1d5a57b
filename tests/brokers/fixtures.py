"""Pytest fixtures for real brokers. All brokers that the collected tests need start together in the background."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.brokers import tools

if TYPE_CHECKING:
    # `Cluster`, `Live` and `Secure` need Kafka client libraries. At run time, they are imported only if a test needs a
    # broker.
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live
    from tests.brokers.secure import Secure

ONE_OF_EACH = {"broker": ("broker_431", "broker_392"), "live": ("live_431", "live_392")}
"""Parametrized fixture → names of the fixtures with which it runs each test."""

NAMES = ("live_431", "live_392", "secure_broker", "broker_431", "broker_392")
"""All fixtures that start a broker, the slowest first."""


@pytest.hookimpl(tryfirst=True)  # so that the hook adds its `xdist_group` marks before xdist reads them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests with real brokers in one worker, so that each broker is started only once."""
    for item in items:
        if requested_by(item):
            item.add_marker(pytest.mark.broker)
            item.add_marker(pytest.mark.xdist_group("broker"))


def pytest_unconfigure() -> None:
    """Stop the JVMs that have run Kafka's tools."""
    tools.stop()


def requested_by(item: pytest.Item) -> set[str]:
    """Return the fixtures of `NAMES` that a test uses, directly or by a marker such as `broker("live_431")`."""
    names = {*getattr(item, "fixturenames", ())}
    for marker in item.iter_markers("broker"):
        names.update(marker.args)
    for parametrised, behind in ONE_OF_EACH.items():
        if parametrised in names:
            names.update(behind)
    return names.intersection(NAMES)


class Brokers:
    """Starts the brokers and live groups of the fixtures in `NAMES` in the background, each at most once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(max_workers=5, thread_name_prefix="brokers")
        self._lock = threading.Lock()
        self._started: dict[str, Future[Any]] = {}
        self._running: list[Cluster | Live | Secure] = []
        self._make: dict[str, Callable[[], Cluster | Live | Secure]] = {
            "broker_431": lambda: self._cluster("4.3.1"),
            "broker_392": lambda: self._cluster("3.9.2"),
            "live_431": lambda: self._live("broker_431"),
            "live_392": lambda: self._live("broker_392"),
            "secure_broker": self._secure,
        }

    def start(self, name: str) -> Future[Any]:
        """Start a broker or set of live groups in the background, unless this was already done."""
        with self._lock:
            if name not in self._started:
                self._started[name] = self._pool.submit(self._run, name)
            return self._started[name]

    def get(self, name: str) -> Any:
        """Wait until a broker or set of live groups is ready, and return it."""
        return self.start(name).result()

    def write_coordinator_records(self, name: str) -> None:
        """Create the records of `coordinator_records` in the background, on the broker of the fixture `name`."""
        from tests.brokers import coordinator_records

        self._pool.submit(lambda: coordinator_records.write_records(self.get(name)))

    def stop(self) -> None:
        """Stop all clients and brokers that were started. The clients are stopped first."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for running in reversed(self._running):
            running.stop()

    def _run(self, name: str) -> Cluster | Live | Secure:
        started = self._make[name]()
        started.start()
        with self._lock:
            self._running.append(started)
        return started

    def _cluster(self, version: str) -> Cluster:
        from tests.brokers.cluster import Cluster

        return Cluster(version, self._folder / version)

    def _live(self, broker: str) -> Live:
        from tests.brokers.live import Live

        return Live(self.get(broker))

    def _secure(self) -> Secure:
        from tests.brokers.secure import Secure

        return Secure(self._folder / "secure")


@pytest.fixture(scope="session")
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """The object that starts all brokers and stops them at the end. The other fixtures get their brokers from it."""
    brokers = Brokers(tmp_path_factory.mktemp("brokers"))
    needed = set().union(*(requested_by(item) for item in request.session.items))
    for name in NAMES:
        if name in needed:
            brokers.start(name)
    yield brokers
    brokers.stop()


@pytest.fixture(scope="session")
def broker_431(brokers: Brokers) -> Cluster:
    """A 4.3.1 broker without any security."""
    cluster: Cluster = brokers.get("broker_431")
    return cluster


@pytest.fixture(scope="session")
def broker_392(brokers: Brokers) -> Cluster:
    """A 3.9.2 broker without any security, with KIP-848 groups enabled."""
    cluster: Cluster = brokers.get("broker_392")
    return cluster


@pytest.fixture(scope="session", params=["4.3.1", "3.9.2"])
def broker(request: pytest.FixtureRequest, brokers: Brokers) -> Cluster:
    """Run the test on `broker_431` and on `broker_392`."""
    cluster: Cluster = brokers.get(_named("broker", request.param))
    return cluster


@pytest.fixture(scope="session")
def live_431(brokers: Brokers) -> Live:
    """Live groups of every type on the 4.3.1 broker."""
    live: Live = brokers.get("live_431")
    return live


@pytest.fixture(scope="session")
def live_392(brokers: Brokers) -> Live:
    """Live groups of every type that 3.9.2 supports."""
    live: Live = brokers.get("live_392")
    return live


@pytest.fixture(scope="session", params=["4.3.1", "3.9.2"])
def live(request: pytest.FixtureRequest, brokers: Brokers) -> Live:
    """Run the test on the live groups of each broker."""
    live: Live = brokers.get(_named("live", request.param))
    return live


@pytest.fixture(scope="session")
def secure_broker(brokers: Brokers) -> Secure:
    """A 4.3.1 broker with authorizer, SASL and TLS."""
    secure: Secure = brokers.get("secure_broker")
    return secure


def checked(request: pytest.FixtureRequest, name: str) -> Any:
    """Return the value of a fixture of `NAMES` that a test requests at run time.

    The test fails if it has no `broker` marker with the name of the fixture.
    """
    assert name in requested_by(request.node), f"{request.node.nodeid} needs the marker broker({name!r})"
    return request.getfixturevalue(name)


def _named(kind: str, version: str) -> str:
    return f"{kind}_{version.replace('.', '')}"
