"""What a simulated cluster is started with: as a value, as command line arguments, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.simulator.releases import NEWEST, RANGES, releases

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

SCENARIOS = {
    "company": "a company with groups of every type and kind, in good and bad health, and hostile names",
    "wild": "the company, and what makes Kafka's own tools fail: damaged member bytes, commits on deleted topics",
    "plain": "generated groups only",
    "empty": "topics, and no groups at all",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How a cluster is to be.

    Attributes:
        listen: `host:port` of the first broker; the others take the next ports. Port 0 for any free ports.
        brokers: how many.
        groups: how many groups in all, those of the scenario among them; None for the scenario alone.
        partitions: of each generated topic.
        seed: the same seed gives the same cluster.
        kafka_version: a release, or a comma list of releases for a cluster in the midst of an upgrade.
        scenario: one of `SCENARIOS`.
        churn: part of the generated groups that change state every 2 s.
        features: finalized features that differ from the release's own.
    """

    listen: str = "127.0.0.1:0"
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
            raise UsageError("a cluster needs at least 1 broker, 1 partition and 0 groups")
        if not 0 <= self.churn <= 1:
            raise UsageError(f"churn is a part of all groups, from 0 to 1, not {self.churn}")
        if self.scenario not in SCENARIOS:
            raise UsageError(f"no scenario {self.scenario!r}; there are {', '.join(SCENARIOS)}")
        releases(self.kafka_version)
        if self.port + self.brokers > 1 << 16:
            raise UsageError(f"{self.brokers} ports from {self.port} on are too many")

    @property
    def host(self) -> str:
        """The address to listen on."""
        return self.listen.rpartition(":")[0].strip("[]") or "127.0.0.1"

    @property
    def port(self) -> int:
        """The port of the first broker.

        Raises:
            UsageError: it is not a number.
        """
        text = self.listen.rpartition(":")[2]
        if not text.isascii() or not text.isdigit():
            raise UsageError(f"--listen takes host:port, not {self.listen!r}")
        return int(text)

    def arguments(self) -> list[str]:
        """The same as command line arguments."""
        given = [
            f"--listen={self.listen}",
            f"--brokers={self.brokers}",
            f"--partitions={self.partitions}",
            f"--seed={self.seed}",
            f"--kafka-version={self.kafka_version}",
            f"--scenario={self.scenario}",
            f"--churn={self.churn}",
        ]
        if self.groups is not None:
            given.append(f"--groups={self.groups}")
        given += [f"--features={name}={level}" for name, level in (self.features or {}).items()]
        return given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulated cluster to a parser."""
    default = Options()
    cluster = parser.add_argument_group("simulated cluster")
    add = cluster.add_argument
    add("--listen", metavar="HOST:PORT", default=default.listen, help="first broker's address; port 0 for any")
    add("--brokers", metavar="N", type=int, default=default.brokers, help="how many brokers (%(default)s)")
    add("--groups", metavar="N", type=int, default=None, help="how many groups in all; generated ones fill up")
    add("--partitions", metavar="N", type=int, default=default.partitions, help="of a generated topic (%(default)s)")
    add("--seed", metavar="S", type=int, default=default.seed, help="same seed, same cluster (%(default)s)")
    add(
        "--kafka-version",
        metavar="V[,V…]",
        default=default.kafka_version,
        help=f"release that the brokers run, or several in turn: {', '.join(RANGES)}",
    )
    add("--scenario", choices=list(SCENARIOS), default=default.scenario, help="what groups there are (%(default)s)")
    add("--churn", metavar="PART", type=float, default=default.churn, help="generated groups changing every 2 s")
    add(
        "--features",
        metavar="NAME=LEVEL",
        action="append",
        default=[],
        help="finalize a feature, such as share.version=0",
    )


def options_from(arguments: argparse.Namespace) -> Options:
    """The options that were parsed.

    Raises:
        UsageError: a value makes no sense.
    """
    return Options(
        listen=arguments.listen,
        brokers=arguments.brokers,
        groups=arguments.groups,
        partitions=arguments.partitions,
        seed=arguments.seed,
        kafka_version=arguments.kafka_version,
        scenario=arguments.scenario,
        churn=arguments.churn,
        features=_features(arguments.features),
    )


def _features(given: list[str]) -> dict[str, int]:
    features = {}
    for item in ",".join(given).split(","):
        name, _, level = item.partition("=")
        if item and not level.isdigit():
            raise UsageError(f"--features takes NAME=LEVEL, not {item!r}")
        if item:
            features[name.strip()] = int(level)
    return features
