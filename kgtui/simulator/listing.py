"""Bodies of ListGroups: rows of generated groups are kept as bytes and patched where something changed."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

from kgtui.simulator import compact
from kgtui.simulator.population import GONE, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.simulator.population import Population

FIRST_FLEXIBLE = 3
FIRST_WITH_STATE = 4
FIRST_WITH_TYPE = 5


def text(value: str, version: int) -> bytes:
    """A string as ListGroups writes it."""
    if version >= FIRST_FLEXIBLE:
        return compact.text(value)
    raw = value.encode("utf-8", "surrogateescape")
    return pack(">h", len(raw)) + raw


def tail(protocol: str, state: str, group_type: str, version: int) -> bytes:
    """A row behind the group id."""
    row = text(protocol, version)
    if version >= FIRST_WITH_STATE:
        row += text(state, version)
    if version >= FIRST_WITH_TYPE:
        row += text(group_type, version)
    return row + (b"\0" if version >= FIRST_FLEXIBLE else b"")


def body(version: int, throttle_ms: int, error: int, count: int, rows: Iterable[bytes]) -> bytes:
    """A whole response."""
    head = pack(">i", throttle_ms) if version >= 1 else b""
    head += pack(">h", error)
    head += compact.length(count) if version >= FIRST_FLEXIBLE else pack(">i", count)
    return b"".join((head, *rows, b"\0" if version >= FIRST_FLEXIBLE else b""))


class Rows:
    """The rows of all generated groups in one version, by partition of `__consumer_offsets`."""

    def __init__(self, population: Population, version: int) -> None:
        self._population = population
        self._tails = {
            (kind, state): tail(protocol, states[state], group_type, version)
            for kind, (group_type, protocol, states) in enumerate(KINDS)
            for state in range(len(states))
        }
        self._version = version
        self._rows = [[self._row(index) for index in members] for members in population.members]
        self._chunks: list[bytes | None] = [None] * len(self._rows)
        self._changed: set[int] = set()
        population.readers.append(self._changed)

    def _row(self, index: int) -> bytes:
        people = self._population
        state = people.states[index]
        if state == GONE:
            return b""
        return text(people.names[index], self._version) + self._tails[people.kinds[index], state]

    def chunk(self, partition: int) -> bytes:
        """The rows of one partition, joined."""
        self._patch()
        chunk = self._chunks[partition]
        if chunk is None:
            chunk = self._chunks[partition] = b"".join(self._rows[partition])
        return chunk

    def _patch(self) -> None:
        people = self._population
        # In order, because new groups come at the end of their partition.
        for index in sorted(self._changed):
            home, place = people.home[index], people.place[index]
            rows = self._rows[home]
            if place == len(rows):
                rows.append(b"")
            rows[place] = self._row(index)
            self._chunks[home] = None
        self._changed.clear()
