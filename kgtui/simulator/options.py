"""The options of a simulated cluster, and their conversion to and from command line arguments."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.simulator.releases import NEWEST, RANGES, releases
from kgtui.simulator.scenarios import check_scenario_name, scenario_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a simulated cluster. Most are described in `Simulator`.

    Attributes:
        listen: `host:port` of the first broker. Each further broker uses the next higher port. With port 0, all brokers
            use free ports.
        expose: whether to allow an address in `listen` that other machines can reach.
    """

    listen: str = "127.0.0.1:0"
    expose: bool = False
    brokers: int = 3
    groups: int | None = None
    partitions: int = 6
    seed: int = 1
    kafka_version: str = NEWEST
    scenario: str = "company"
    churn: float = 0.005
    features: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.brokers < 1 or self.partitions < 1 or (self.groups or 0) < 0:
            raise UsageError("--brokers and --partitions must be at least 1, and --groups at least 0")
        if not self.expose and not self.loopback:
            raise UsageError(
                f"other machines can connect to --listen {self.listen}, and the simulated cluster requires no login; "
                "use 127.0.0.1, or add --expose to allow this"
            )
        if not 0 <= self.churn <= 1:
            raise UsageError(f"--churn takes a fraction from 0 to 1, not {self.churn}")
        check_scenario_name(self.scenario)
        releases(self.kafka_version)
        if self.port + self.brokers > 1 << 16:
            raise UsageError(
                f"{self.brokers} brokers from port {self.port} on need ports above 65535; use a lower port"
            )

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]") or "127.0.0.1"

    @property
    def loopback(self) -> bool:
        """Whether all addresses of the host in `listen` are loopback addresses, so that only this machine can connect.

        False if no addresses of the host can be found.
        """
        try:
            found = socket.getaddrinfo(self.host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return False
        return all(ipaddress.ip_address(address[4][0]).is_loopback for address in found)

    @property
    def port(self) -> int:
        """The port of the first broker. Raises UsageError if `listen` contains no port number."""
        text = self.listen.rpartition(":")[2]
        if not text.isascii() or not text.isdigit():
            raise UsageError(f"--listen takes host:port, not {self.listen!r}")
        return int(text)

    def arguments(self) -> list[str]:
        arguments = [
            f"--listen={self.listen}",
            f"--brokers={self.brokers}",
            f"--partitions={self.partitions}",
            f"--seed={self.seed}",
            f"--kafka-version={self.kafka_version}",
            f"--scenario={self.scenario}",
            f"--churn={self.churn}",
        ]
        if self.groups is not None:
            arguments.append(f"--groups={self.groups}")
        if self.expose:
            arguments.append("--expose")
        arguments += [f"--features={name}={level}" for name, level in (self.features or {}).items()]
        return arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    default = Options()
    cluster = parser.add_argument_group("simulated cluster")
    add = cluster.add_argument
    add(
        "--listen",
        metavar="HOST:PORT",
        default=default.listen,
        help="address of the first broker; port 0 chooses a free port",
    )
    add("--expose", action="store_true", help="allow --listen with an address that other machines can reach")
    add("--brokers", metavar="N", type=int, default=default.brokers, help="number of brokers (default: %(default)s)")
    add(
        "--groups",
        metavar="N",
        type=int,
        default=None,
        help="total number of groups; if the scenario has fewer groups, the missing ones are generated",
    )
    add(
        "--partitions",
        metavar="N",
        type=int,
        default=default.partitions,
        help="partitions per generated topic (default: %(default)s)",
    )
    add(
        "--seed",
        metavar="S",
        type=int,
        default=default.seed,
        help="the same seed gives the same cluster (default: %(default)s)",
    )
    add(
        "--kafka-version",
        metavar="V[,V…]",
        default=default.kafka_version,
        help=f"Kafka release of all brokers, or a list with one release per broker; releases: {', '.join(RANGES)}",
    )
    add(
        "--scenario",
        choices=scenario_names(),
        default=default.scenario,
        help="scenario that defines the topics and groups (default: %(default)s)",
    )
    add(
        "--churn",
        metavar="FRACTION",
        type=float,
        default=default.churn,
        help="fraction of the generated groups that change state every 2 s",
    )
    add(
        "--features",
        metavar="NAME=LEVEL",
        action="append",
        default=[],
        help="set the level of a feature, such as share.version=0",
    )


def options_from(arguments: argparse.Namespace) -> Options:
    """Convert parsed arguments to options. Raises UsageError if an argument is invalid."""
    return Options(
        listen=arguments.listen,
        expose=arguments.expose,
        brokers=arguments.brokers,
        groups=arguments.groups,
        partitions=arguments.partitions,
        seed=arguments.seed,
        kafka_version=arguments.kafka_version,
        scenario=arguments.scenario,
        churn=arguments.churn,
        features=_features(arguments.features),
    )


def _features(arguments: list[str]) -> dict[str, int]:
    features = {}
    for item in ",".join(arguments).split(","):
        name, _, level = item.partition("=")
        if item and not level.isdigit():
            raise UsageError(f"--features takes NAME=LEVEL, not {item!r}")
        if item:
            features[name.strip()] = int(level)
    return features
