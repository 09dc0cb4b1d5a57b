"""The summary of a group: a few values that a background task, the sweep, stores for every group.

To find members, filters search the member index of a group: one string with all client ids, hosts and member ids. Three
tuples with the same texts would take three times as much memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group import topics_of
from kgtui.model.offsets import LagTotal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.trail import Trail

NAMES: dict[str, Callable[[Sequence[Member]], Iterable[str]]] = {
    "client": lambda members: sorted({member.client_id for member in members}),
    "host": lambda members: sorted({member.host for member in members}),
    "member": lambda members: [
        *(member.member_id for member in members),
        *(member.instance_id for member in members if member.instance_id),
    ],
}
"""Maps each filter key, such as `client`, to a function that returns the texts of members that the filter searches.

The member index is one string with the texts for all keys, in the order of the keys in this dict.
"""

_BETWEEN, _PART, _CLIENT = "\x1f", "\x1e", "\x1d"
# Ids can contain any character. If an id contains a separator of the member index, the separator is replaced with `?`.
# Users never see the changed id, because the member index is only searched.
_INSTEAD = str.maketrans(dict.fromkeys((_BETWEEN, _PART, _CLIENT), "?"))

_MOST_CLIENTS = 10
"""If a group has more client ids than this, its member ids are not shortened in the member index."""


def member_index_of(members: Iterable[Member] | None) -> str:
    """Return the member index: one string with all client ids, hosts and member ids; empty without members."""
    known = tuple(members or ())
    return encode_member_index({key: names(known) for key, names in NAMES.items()}) if known else ""


def encode_member_index(names: Mapping[str, Iterable[str]]) -> str:
    """Encode names of a group's members as one string, the member index, in which filters search.

    Most member ids begin with the client id. In the string, this beginning is replaced with a separator and the number
    of the client id, which saves several megabytes in a cluster with 100,000 groups.

    Args:
        names: kind of name (a key of `NAMES`, such as `client`) → the names of this kind (such as all client ids).
    """
    safe = {
        key: [text.translate(_INSTEAD) if not text.isprintable() else text for text in names.get(key, ())]
        for key in NAMES
    }
    if len(safe["client"]) <= _MOST_CLIENTS:
        safe["member"] = [_shortened(text, safe["client"]) for text in safe["member"]]
    return _PART.join(map(_BETWEEN.join, safe.values()))


def _shortened(member: str, clients: Sequence[str]) -> str:
    """Return a member id in which a client id at the beginning is replaced with `_CLIENT` and the client's number."""
    for number, client in enumerate(clients):
        if client and member.startswith(client):
            return f"{_CLIENT}{number}{member[len(client) :]}"
    return member


def names_reader(key: str) -> Callable[[str], tuple[str, ...]]:
    """Return a function that returns the texts of one kind, such as all hosts, from a member index.

    A member index is one string with all client ids, hosts and member ids of a group (see `member_index_of`).

    Args:
        key: the kind of texts: a key of `NAMES`, such as `host`.
    """
    number, clients = (list(NAMES).index(one) for one in (key, "client"))

    def read(text: str) -> tuple[str, ...]:
        if not text:
            return ()
        parts = text.split(_PART)
        part = parts[number]
        values = part.split(_BETWEEN) if part else ()
        if _CLIENT not in part:
            return tuple(values)
        ids = parts[clients].split(_BETWEEN)
        return tuple([ids[int(one[1])] + one[2:] if one.startswith(_CLIENT) else one for one in values])

    return read


@dataclass(frozen=True, slots=True)
class Summary:
    """The values that the background read of all groups (the sweep) stores about one group.

    Attributes:
        members: number of members, or None.
        lag: sum of the known lags in records; None if no lag is known.
        lag_unknown: number of partitions with unknown lag.
        partitions: number of partitions with an offset. For groups that are selected, visible or may have a problem,
            partitions that have an owner but no offset count, too.
        topics: sorted topics with a subscription or an offset; None if not read.
        member_index: result of `encode_member_index` for client ids, hosts and member ids.
        state: state in the description, for brokers whose lists contain no states; None if not described.
        type: type in the description, for brokers whose lists contain no types; None if not described.
        at: when the members were read, in epoch seconds.
        lag_at: when the offsets were read, in epoch seconds; None if they were never read.
        fault: why some of these values could not be read, or None.
        hidden: whether `lag` is a lower bound, because brokers may hide topics.
        screened: whether the sweep has read the group often enough to call it OK if no problem was found (see
            `Trail.shows_progress`).
        trail: results of the last few background reads, encoded by `kgtui.model.trail.Trail.encode`; may be empty.
    """

    members: int | None
    lag: int | None
    lag_unknown: int
    partitions: int
    topics: tuple[str, ...] | None
    member_index: str
    at: float
    lag_at: float | None = None
    state: str | None = None
    type: str | None = None
    fault: Fault | None = None
    hidden: bool = False
    screened: bool = False
    trail: bytes = b""

    @property
    def is_lag_unknown(self) -> bool:
        """Whether kgtui cannot tell if there are unread records: no known lag is above 0, but some lags are unknown."""
        return not self.lag and self.lag_unknown > 0


Topics = dict[tuple[str, ...], tuple[str, ...]]
"""Type of a dict in which each tuple of topic names is stored as both key and value.

Summaries of groups with the same topics share one tuple from the dict. This saves memory, because even 100,000 groups
usually have only a few different tuples.
"""


def summary_of(
    description: GroupDescription | None,
    sums: LagTotal | None,
    topics: Iterable[str] | None,
    fault: Fault | None,
    at: float,
    *,
    memberless: bool = False,
    shared: Topics,
    earlier: Summary | None = None,
    trail: Trail | None = None,
) -> Summary:
    """Return the summary of a group. Values that were not read are None or empty.

    Args:
        sums: total lag; None if offsets could not be read.
        topics: topics with an offset; None if offsets could not be read.
        fault: why some data could not be read, or None.
        at: time of the read, in epoch seconds.
        memberless: True if the group was not described, because its listed state shows that it has no members.
        shared: tuples of topics that summaries share, to save memory. A new tuple of topics is added.
        earlier: previous summary of the group. Its lag is used if offsets could not be read.
        trail: results of the last few reads, including this one; None to use the trail in `earlier`.
    """
    subscribed = topics_of(description) if description is not None else set() if memberless else None
    row = None if subscribed is None or topics is None else tuple(sorted(subscribed.union(topics)))
    lag_at: float | None = at
    if sums is None and topics is None:
        lag_at = None if earlier is None else earlier.lag_at
        sums = (
            None if earlier is None else LagTotal(earlier.lag, earlier.lag_unknown, earlier.partitions, earlier.hidden)
        )
    return Summary(
        members=description.member_count if description else 0 if memberless else None,
        lag=sums.lag if sums else None,
        lag_unknown=sums.unknown if sums else 0,
        partitions=sums.partitions if sums else 0,
        topics=None if row is None else shared.setdefault(row, row),
        member_index=member_index_of(description.members if description else None),
        at=at,
        lag_at=lag_at,
        state=description.state if description else None,
        type=description.type if description else None,
        fault=fault,
        hidden=sums is not None and sums.hidden,
        screened=trail.shows_progress if trail is not None else earlier is not None and earlier.screened,
        trail=trail.encode() if trail is not None else b"" if earlier is None else earlier.trail,
    )


def with_newer_offsets(
    earlier: Summary,
    sums: LagTotal,
    topics: Iterable[str],
    fault: Fault | None,
    at: float,
    *,
    shared: Topics,
    trail: Trail,
) -> Summary:
    """Return the summary of a group after only its offsets were read again.

    Args:
        earlier: previous summary, whose members are kept.
        sums: total lag.
        topics: topics with an offset.
        at: time of the read, in epoch seconds.
        shared: tuples of topics that summaries share, to save memory. A new tuple of topics is added.
        trail: results of the last few reads, including this one.
    """
    known = earlier.topics
    if known is not None and not set(topics) <= set(known):
        row = tuple(sorted({*known, *topics}))
        known = shared.setdefault(row, row)
    # `dataclasses.replace` would take three times as long as this call. The old number of partitions is kept if it is
    # larger, because the new number does not include partitions that have an owner but no offset.
    return Summary(
        members=earlier.members,
        lag=sums.lag,
        lag_unknown=max(sums.unknown, earlier.lag_unknown) if earlier.hidden else sums.unknown,
        partitions=max(sums.partitions, earlier.partitions),
        topics=known,
        member_index=earlier.member_index,
        at=earlier.at,
        lag_at=at,
        state=earlier.state,
        type=earlier.type,
        fault=fault,
        hidden=earlier.hidden,
        screened=trail.shows_progress,
        trail=trail.encode(),
    )
