"""The catalog of filter terms. The parser, the help, the README and error messages use it.

To add a term, add an entry to `TERMS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model import facts
from kgtui.model.facts import Need
from kgtui.model.group_types import EMPTY, KINDS, PROTOCOLS, STATES, TYPES, UNSETTLED
from kgtui.model.problem import PROBLEM_NAMES, STATUS_NAMES
from kgtui.model.query.ranges import COUNT_UNITS, TIME_UNITS, names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kgtui.model.group import Listing
    from kgtui.model.snapshot import Snapshot


UNKNOWN = "unknown"


class Number(NamedTuple):
    """A number of a group, such as its lag, that a filter term compares with a range.

    Attributes:
        applies: whether the number exists for the group; None if that is not known. For example, the time since a
            group became Empty exists only for an Empty group.
        value: the number; None if unknown.
        at_least: whether the true number may be larger than `value`.
    """

    applies: bool | None
    value: float | None = None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class TermKey:
    """The catalog entry of a filter term `key:value`, such as `state:Empty`.

    Attributes:
        meaning: which groups the term selects, for the help and the README.
        example: a filter with the term, such as `lag:1k+`. The filter needs no quotes in a shell.
        values: accepted values; empty if every text or number is accepted.
        needs: data that must be read before the term can be evaluated. The list of groups is always read.
        heading: the term as the help shows it, such as `fault:yes`; if empty, the help shows `key:`.
    """

    key: str
    meaning: str
    example: str
    values: tuple[str, ...] = ()
    needs: frozenset[Need] = frozenset()
    heading: str = ""


@dataclass(frozen=True, slots=True)
class FuzzyKey(TermKey):
    """The catalog entry of the term `fuzzy:`, which finds a sequence of letters in the group id."""


@dataclass(frozen=True, slots=True)
class ListingKey(TermKey):
    """The catalog entry of a filter term about data in the list of groups, such as `state:`.

    Groups with the same type, protocol, state and coordinator share one `Listing`. If a `Listing` contains the data,
    the term is tested once for all its groups.

    Attributes:
        of_listing: function that takes a snapshot and a `Listing`, and returns the texts that the term is compared
            with, such as the state. It returns None if the broker did not list this data.
        of_group: function that is called if `of_listing` returns None. It takes a snapshot and a group id, and returns
            the text that the term is compared with, or None if unknown. If `of_group` is None, the text is unknown.
        quoted: whether a value that is not in `values` is accepted if the user writes it in quotes.
    """

    of_listing: Callable[[Snapshot, Listing], tuple[str, ...] | None] = field(kw_only=True)
    of_group: Callable[[Snapshot, str], str | None] | None = None
    quoted: bool = True


@dataclass(frozen=True, slots=True)
class NameKey(TermKey):
    """The catalog entry of a filter term about names, such as `topic:` for topics. Its values can contain wildcards.

    Attributes:
        names: function that takes a snapshot and a group id, and returns the group's names, such as its topics. It
            returns None if not all of them were read.
    """

    names: Callable[[Snapshot, str], tuple[str, ...] | None] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class NumberKey(TermKey):
    """The catalog entry of a filter term about a number, such as `lag:1k+`. The term's values are ranges.

    Attributes:
        units: units of the ranges: `COUNT_UNITS` or `TIME_UNITS`.
        number: function that takes a snapshot and a group id, and returns the group's number, such as its lag.
        in_summary: name of the attribute of `Summary` (values from the background reads of a group) that contains the
            number, such as `lag`. The attribute is read instead of calling `number`, because that is faster. Empty if
            there is no such attribute.
        newer_in: name of the mapping in `Snapshot` that may have newer data than the summaries, such as `offsets`. For
            groups in this mapping, `number` is called nevertheless. Empty if `in_summary` is empty.
        searched_without_value: whether `Query.searched` counts a group as searched after its data was read, even if the
            number is still unknown. False only for `empty:`: a group that became Empty before kgtui started does not
            count as searched, because no data shows when it became Empty.
    """

    units: Mapping[str, int] = field(kw_only=True)
    number: Callable[[Snapshot, str], Number] = field(kw_only=True)
    in_summary: str = ""
    newer_in: str = ""
    searched_without_value: bool = True


@dataclass(frozen=True, slots=True)
class FlagKey(TermKey):
    """The catalog entry of a filter term with the value `yes` or `no`, such as `marked:`.

    Attributes:
        holds: function that takes a snapshot, a group id and the ids of all marked groups. It returns whether the term
            with the value `yes`, such as `marked:yes`, is true for the group.
    """

    holds: Callable[[Snapshot, str, Collection[str]], bool] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class VerdictKey(TermKey):
    """The catalog entry of the term `verdict:`, which selects groups by verdict (`warn`) or by problem (`stall`)."""


def _names_of_coordinator(snapshot: Snapshot, listing: Listing) -> tuple[str, ...]:
    node = listing.coordinator
    broker = snapshot.cluster.brokers.get(node)
    return (str(node),) if broker is None else (str(node), broker.host, broker.address)


def _hosts(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    """Return the hosts of the members, as brokers write them (`/10.0.0.7`) and without the slash; None if not read."""
    hosts = facts.hosts(snapshot, group)
    return None if hosts is None else hosts + tuple(host[1:] for host in hosts if host.startswith("/"))


def _members(snapshot: Snapshot, group: str) -> Number:
    read = group in snapshot.summaries or group in snapshot.details
    return Number(True if read else None, facts.member_count(snapshot, group))


def _lag(snapshot: Snapshot, group: str) -> Number:
    lag = facts.lag_total(snapshot, group)
    if lag is None:  # A stored summary shows that kgtui has read the group, but the broker returned no offsets.
        return Number(True if group in snapshot.summaries else None)
    return Number(True, lag.lag, lag.lower_bound)


def _time_lag(snapshot: Snapshot, group: str) -> Number:
    found = facts.time_lag(snapshot, group)
    return Number(None) if found is None else Number(True, *found)


def _seconds_empty(snapshot: Snapshot, group: str) -> Number:
    state = snapshot.state_of(group)
    since = snapshot.state_since.get(group)
    return Number(
        None if state is None else state == EMPTY, None if since is None else max(snapshot.taken_at - since, 0.0)
    )


def _age(snapshot: Snapshot, group: str) -> Number:
    at = facts.read_at(snapshot, group)
    return Number(True, None if at is None else max(snapshot.taken_at - at, 0.0))


def _has_problem(snapshot: Snapshot, group: str, _marked: Collection[str]) -> bool:
    judgment = snapshot.judgment(group)
    if judgment.kind is not None:
        return judgment.kind.value not in ("abandoned", "unused")
    return snapshot.state_of(group) in UNSETTLED


_DESCRIPTION = frozenset({Need.DESCRIPTION})
_OFFSETS = frozenset({Need.OFFSETS})
_WATCHING = frozenset({Need.WATCHING})


TERMS: tuple[TermKey, ...] = (
    FuzzyKey("fuzzy", "The group id contains these letters in this order.", "fuzzy:pmtset", heading="fuzzy:word"),
    ListingKey(
        "type",
        f"Group type: {', '.join(TYPES)}, or unknown.",
        "type:consumer",
        (*TYPES, UNKNOWN),
        of_listing=lambda _snapshot, listing: None if listing.type is None else (listing.type,),
        of_group=facts.type_of,
    ),
    ListingKey(
        "protocol",
        f"Protocol type: {', '.join(PROTOCOLS)}, or any other.",
        "protocol:connect",
        of_listing=lambda _snapshot, listing: (listing.protocol,),
    ),
    ListingKey(
        "state",
        f"State: {', '.join(STATES)}, or unknown.",
        "state:Empty",
        (*STATES, UNKNOWN),
        of_listing=lambda _snapshot, listing: None if listing.state is None else (listing.state,),
        of_group=lambda snapshot, group: snapshot.state_of(group),
    ),
    ListingKey(
        "kind",
        f"Kind of group: {', '.join(KINDS)}.",
        "kind:simple",
        KINDS,
        of_listing=lambda _snapshot, listing: (listing.kind,),
        quoted=False,
    ),
    NameKey(
        "topic",
        "The group subscribes to this topic or has offsets in it. % and * stand for any text, ? for one character.",
        "topic:payments%",
        needs=_DESCRIPTION | _OFFSETS,
        names=facts.topics,
    ),
    NameKey(
        "client",
        "A member has this client id (wildcards allowed).",
        "client:billing-%",
        needs=_DESCRIPTION,
        names=facts.member_values_reader("client"),
    ),
    NameKey(
        "host", "A member runs on this host (wildcards allowed).", "host:10.0.3.%", needs=_DESCRIPTION, names=_hosts
    ),
    NameKey(
        "member",
        "A member has this member id or instance id (wildcards allowed).",
        "member:worker-7%",
        needs=_DESCRIPTION,
        names=facts.member_values_reader("member"),
    ),
    ListingKey(
        "coordinator",
        "The coordinator is this broker: node id, host or host:port (wildcards allowed).",
        "coordinator:3",
        of_listing=_names_of_coordinator,
    ),
    NumberKey(
        "members",
        "Number of members: 2+ (at least 2), ..5 (at most 5), 2..5, 0, or unknown; in the terminal UI also >5 and <5.",
        "members:2+",
        needs=_DESCRIPTION,
        units=COUNT_UNITS,
        number=_members,
        in_summary="members",
        newer_in="details",
    ),
    NumberKey(
        "lag",
        f"Total lag in records, with the units {names_of(COUNT_UNITS)}. The value unknown also finds groups whose "
        "lag is only partly known.",
        "lag:1k+",
        needs=_OFFSETS,
        units=COUNT_UNITS,
        number=_lag,
        in_summary="lag",
        newer_in="offsets",
    ),
    NumberKey(
        "timelag",
        "Age of the oldest unread record. For the selected group and for groups with a possible problem, the age "
        "comes from the record's timestamp. For other groups in view, it is estimated. For groups out of view, it is "
        "a lower bound.",
        "timelag:5m+",
        needs=_WATCHING,
        units=TIME_UNITS,
        number=_time_lag,
    ),
    VerdictKey(
        "verdict",
        f"Verdict on a group: {', '.join(STATUS_NAMES)} (a + includes worse verdicts), a problem "
        f"({', '.join(PROBLEM_NAMES)}), or {UNKNOWN}.",
        "verdict:warn+",
        (*STATUS_NAMES, *PROBLEM_NAMES, UNKNOWN),
        needs=_OFFSETS | _WATCHING,
    ),
    NumberKey(
        "empty",
        f"Time since the group became Empty; known only if kgtui saw it become Empty. Units {names_of(TIME_UNITS)}.",
        "empty:1h+",
        needs=_WATCHING,
        units=TIME_UNITS,
        number=_seconds_empty,
        searched_without_value=False,
    ),
    NumberKey(
        "age",
        "Time since members or offsets of the group were last read; unknown if they were never read.",
        "age:..30s",
        units=TIME_UNITS,
        number=_age,
    ),
    FlagKey(
        "fault",
        "The newest read of the group failed, at least in part, or its coordinator does not respond.",
        "fault:yes",
        ("yes", "no"),
        heading="fault:yes",
        holds=lambda snapshot, group, _marked: facts.has_fault(snapshot, group),
    ),
    FlagKey(
        "problem",
        "Something is wrong: a verdict other than OK, a failed read, or a rebalance. Abandoned and unused groups are "
        "left out.",
        "problem:yes",
        ("yes", "no"),
        needs=_OFFSETS | _WATCHING,
        heading="problem:yes",
        holds=_has_problem,
    ),
    FlagKey(
        "marked",
        "The group is marked in the terminal UI.",
        "marked:no",
        ("yes", "no"),
        heading="marked:yes",
        holds=lambda _snapshot, group, marked: group in marked,
    ),
)
"""The catalog entries of all terms that have a key, in the order in which the help shows them."""

TERM_KEYS: Mapping[str, TermKey] = {entry.key: entry for entry in TERMS}

SORT = "sort"
