"""Parsed filters, which select and sort the groups of a snapshot.

A filter is applied to 1,000 groups at a time, so that the terminal UI can handle key presses in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kgtui.model.query.sort_keys import NAME, SORT_KEYS
from kgtui.model.query.terms import FlagTerm, IdTerm, ListingTerm
from kgtui.model.slices import SLICE, run_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from kgtui.model.event import Event
    from kgtui.model.facts import Need
    from kgtui.model.group import Listing
    from kgtui.model.query.terms import NameTerm, NumberTerm, Tester
    from kgtui.model.query.verdict_terms import VerdictTerm
    from kgtui.model.snapshot import Snapshot

_Terms = tuple["IdTerm", ...]


if TYPE_CHECKING:
    # At run time, the parser imports `VerdictTerm` only for a filter with the term `verdict:`. All other filters are
    # parsed faster without this import.
    GroupTerm = NameTerm | NumberTerm | FlagTerm | VerdictTerm
    Term = IdTerm | ListingTerm | GroupTerm


class FilterCache:
    """Caches the group ids that matched the id terms (terms about the group id, such as `pay`) of the last filter.

    If the next filter has the same id terms, or stricter ones (such as `payments` instead of `pay`), only the cached
    ids are tested.

    The ids are cached separately for each `Listing` (type, protocol, state and coordinator, which many groups share).
    The cached ids of a `Listing` are valid only as long as `Snapshot.by_listing` contains the same sequence object for
    it. Such a sequence must therefore never be modified.
    """

    def __init__(self) -> None:
        self._kept: dict[Listing, tuple[Sequence[str], _Terms, Sequence[str]]] = {}

    def forget(self, lists: Mapping[Listing, Sequence[str]], terms: _Terms) -> None:
        """Drop the cached ids that the next filter cannot use.

        Args:
            lists: `Listing` (type, protocol, state and coordinator) → ids of its groups in the newest snapshot. If the
                ids are in another sequence object than before, the cached ids of the `Listing` are dropped.
            terms: terms about the group id in the next filter, such as `pay`. If there are none, all cached ids are
                dropped.
        """
        self._kept = {listing: kept for listing, kept in self._kept.items() if terms and lists.get(listing) is kept[0]}

    def left(self, listing: Listing, ids: Sequence[str], terms: _Terms) -> tuple[Sequence[str], _Terms]:
        """Return which groups must be tested for the new filter, and with which terms: `(group ids, terms)`.

        If the cache can be used, these are only the ids that matched the last filter, and only the terms that the last
        filter did not contain. Otherwise, they are `ids` and `terms`.

        Args:
            listing: type, protocol, state and coordinator, which many groups share.
            ids: ids of all groups with this type, protocol, state and coordinator.
            terms: terms about the group id in the new filter, such as `payments`.
        """
        kept = self._kept.get(listing)
        # The cache can be used if, for each term of the last filter, the new filter contains the same or a stricter
        # term, such as a longer word.
        if kept is None or kept[0] is not ids or not all(any(new.within(old) for new in terms) for old in kept[1]):
            return ids, terms
        return kept[2], tuple(term for term in terms if term not in kept[1])

    def keep(self, listing: Listing, ids: Sequence[str], terms: _Terms, passed: Sequence[str]) -> None:
        """Store the ids of the groups with this `Listing` that matched all terms about the group id in a filter.

        Args:
            listing: type, protocol, state and coordinator, which many groups share.
            ids: ids of all groups with this type, protocol, state and coordinator.
            terms: terms about the group id in the filter, such as `pay`.
            passed: ids of the groups that matched.
        """
        self._kept[listing] = (ids, terms, passed)


@dataclass(frozen=True, slots=True)
class SortKey:
    """A value by which groups are sorted, such as the lag. If `descending` is True, the largest value comes first.

    The attribute `key` is the name of the value. It must be in the dict `SORT_KEYS`.
    """

    key: str
    descending: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """The kinds of data that must be read before groups can be sorted by this key, besides the list of groups."""
        return SORT_KEYS[self.key].needs

    def spelled(self) -> str:
        """Return the sort key as text in the filter language."""
        return f"sort:{self.key}{'-' if self.descending else ''}"


def ordered(ids: Iterable[str], keys: tuple[SortKey, ...], snapshot: Snapshot) -> list[str]:
    """Return the group ids, sorted by the first key, then by the next keys, and finally by id.

    For each key, groups with an unknown value come after all other groups.
    """
    found = sorted(ids)
    for key in reversed(keys):
        if key.key == NAME:
            found.sort(reverse=key.descending)
            continue
        value_of = SORT_KEYS[key.key].reader(snapshot)
        values = [(value_of(group), group) for group in found]
        known = [(value, group) for value, group in values if value is not None]
        known.sort(key=lambda pair: pair[0], reverse=key.descending)
        found = [group for _, group in known] + [group for value, group in values if value is None]
    return found


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed filter. It selects the groups for which all `terms` are true, and sorts them by `order`.

    A filter without terms selects every group.
    """

    terms: tuple[Term, ...] = ()
    order: tuple[SortKey, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms or self.order)

    def describe(self) -> str:
        """Return the filter as text in the filter language. If possible, the text needs no quotes in a shell."""
        return " ".join(part.spelled() for part in (*self.terms, *self.order))

    @property
    def words(self) -> list[str]:
        """The words that a group id must contain to match the filter.

        Words in negated terms (`not:a`) and words that are alternatives (`a,b`) are not included.
        """
        alternatives = [term.any_of for term in self._id_terms if not term.negated]
        return [any_of[0].text for any_of in alternatives if len(any_of) == 1 and any_of[0].kind == "word"]

    def has_term(self, key: str) -> bool:
        """Return whether the filter contains a term with this key, such as `age` in `age:..30s` or `not:age:..30s`.

        Terms about the group id have no key.
        """
        return any(getattr(term, "key", None) == key for term in self.terms)

    @property
    def needs(self) -> frozenset[Need]:
        """The kinds of data that must be read before the filter can be applied, besides the list of groups."""
        parts = [*self._group_terms, *self.order]
        return frozenset(need for part in parts for need in part.needs)

    def limited(self, known: Collection[Need]) -> Query:
        """Return a copy of this filter that can be applied when only some kinds of data are known.

        The copy has no sort order, and contains only terms for which the `known` data and the list of groups are
        enough. A group that does not match the copy cannot match this filter, so kgtui need not read more data about
        the group.

        Args:
            known: kinds of data that are known, besides the list of groups.
        """
        allowed = frozenset(known)
        return Query(tuple(t for t in self.terms if isinstance(t, IdTerm | ListingTerm) or t.needs <= allowed))

    def matches(self, group: str, snapshot: Snapshot, marked: Collection[str] = frozenset()) -> bool:
        """Return whether the filter selects a group.

        If the value that a term needs is unknown, the group does not match, unless the term asks for unknown values, as
        `lag:unknown` does.

        Args:
            marked: ids of the groups that the user has marked.
        """
        if group not in snapshot.groups or not all(term.filter((group,)) for term in self._id_terms):
            return False
        return all(term.of_group(group, snapshot) for term in self._listing_terms) and all(
            term.of_group(group, snapshot, marked) for term in self._group_terms
        )

    def matches_event(self, event: Event, snapshot: Snapshot) -> bool:
        """Return whether the filter selects the group of an event.

        Type, protocol, state and coordinator come from the event, all other values from the snapshot. An event about a
        broker has no group. Only a filter without terms selects such an event.
        """
        if not self.terms:
            return True
        group, listing = event.group, event.listing
        if group is None or listing is None or not all(term.filter((group,)) for term in self._id_terms):
            return False
        exists = group in snapshot.groups
        return all(
            found if (found := term.of_listing(listing, snapshot)) is not None or not exists
            else term.of_group(group, snapshot)
            for term in self._listing_terms
        ) and all(exists and term.of_group(group, snapshot, frozenset()) for term in self._group_terms)  # fmt: skip

    def select(self, snapshot: Snapshot, marked: Collection[str] = frozenset()) -> list[str]:
        """Return the ids of all selected groups, sorted by `order` and then by id."""
        return run_at_once(self.steps(snapshot, marked))

    def steps(
        self, snapshot: Snapshot, marked: Collection[str] = frozenset(), *, size: int = SLICE
    ) -> Generator[None, None, list[str]]:
        """Compute the result of `Query.select` in a generator.

        It yields after every `size` groups, so that other tasks can run.
        """
        chosen = yield from self.choose(snapshot, marked, size=size)
        return ordered([group for ids in chosen.values() for group in ids], self.order, snapshot)

    def choose(
        self,
        snapshot: Snapshot,
        marked: Collection[str] = frozenset(),
        *,
        size: int = SLICE,
        cache: FilterCache | None = None,
    ) -> Generator[None, None, dict[Listing, Sequence[str]]]:
        """Return a dict: `Listing` (type, protocol, state and coordinator) → sorted ids of its matching groups.

        This generator yields regularly, so that other tasks can run. It returns the dict at the end.

        Args:
            marked: ids of the groups that the user has marked.
            size: number of groups that are tested before the generator yields.
            cache: contains the group ids that matched the id terms of the last filter. It is
                updated for this filter. If it is None, all groups are tested.
        """
        chosen: dict[Listing, Sequence[str]] = {}
        id_terms, cache = tuple(self._id_terms), cache or FilterCache()
        testers = [term.tester(snapshot, marked) for term in self._group_terms]
        cache.forget(snapshot.by_listing, id_terms)
        for listing, ids, undecided in self._candidates(snapshot):
            passed, left = cache.left(listing, ids, id_terms)
            if left:
                passed = yield from _in_slices(passed, size, [term.filter for term in left])
                cache.keep(listing, ids, id_terms, passed)
            if undecided or testers:
                tests: list[Tester] = [*(partial(term.of_group, snapshot=snapshot) for term in undecided), *testers]
                passed = yield from _in_slices(passed, size, [partial(_passing, holds) for holds in tests])
            if passed:
                chosen[listing] = passed
        return chosen

    def searched(self, snapshot: Snapshot) -> tuple[int, int]:
        """Return `(number of searched candidates, number of candidates)`, to show how complete the search is.

        A candidate is a group that the terms about id, type, protocol, kind, state and coordinator do not exclude. A
        candidate counts as searched if kgtui has read the data that all terms of the filter need. Terms with the value
        `yes` or `no`, such as `problem:yes`, are ignored.
        """
        return run_at_once(self.search_steps(snapshot))

    def search_steps(self, snapshot: Snapshot, *, size: int = SLICE) -> Generator[None, None, tuple[int, int]]:
        """Compute the result of `Query.searched` in a generator.

        It yields after every `size` groups, so that other tasks can run.
        """
        terms = [term for term in self._group_terms if not isinstance(term, FlagTerm)]
        known = every = 0
        for _, ids, undecided in self._candidates(snapshot):
            for start in range(0, len(ids), size):
                part: Sequence[str] = ids[start : start + size]
                for term in self._id_terms:
                    part = term.filter(part)
                every += len(part)
                known += sum(
                    1
                    for group in part
                    if all(term.known(group, snapshot) for term in terms)
                    and all(term.of_group(group, snapshot) is not None for term in undecided)
                )
                yield
        return known, every

    def _candidates(self, snapshot: Snapshot) -> list[tuple[Listing, Sequence[str], list[ListingTerm]]]:
        """Return `(Listing, group ids, undecided terms)` for each `Listing` whose groups may match.

        A `Listing` is a type, protocol, state and coordinator that many groups share. A term is undecided if it needs a
        type or state that the broker did not list. An undecided term must be tested for each group.
        """
        found: list[tuple[Listing, Sequence[str], list[ListingTerm]]] = []
        for listing, ids in snapshot.by_listing.items():
            undecided = self._undecided(listing, snapshot)
            if undecided is not None:
                found.append((listing, ids, undecided))
        return found

    def _undecided(self, listing: Listing, snapshot: Snapshot) -> list[ListingTerm] | None:
        undecided: list[ListingTerm] = []
        for term in self._listing_terms:
            answer = term.of_listing(listing, snapshot)
            if answer is False:
                return None
            if answer is None:
                undecided.append(term)
        return undecided

    @property
    def _id_terms(self) -> list[IdTerm]:
        return [term for term in self.terms if isinstance(term, IdTerm)]

    @property
    def _listing_terms(self) -> list[ListingTerm]:
        return [term for term in self.terms if isinstance(term, ListingTerm)]

    @property
    def _group_terms(self) -> list[GroupTerm]:
        return [term for term in self.terms if not isinstance(term, IdTerm | ListingTerm)]


def _in_slices(
    ids: Sequence[str], size: int, filters: Sequence[Callable[[Sequence[str]], Sequence[str]]]
) -> Generator[None, None, Sequence[str]]:
    found: list[str] = []
    for start in range(0, len(ids), size):
        part: Sequence[str] = ids[start : start + size] if len(ids) > size else ids
        for through in filters:
            part = through(part)
        found.extend(part)
        yield
    return found


def _passing(holds: Tester, ids: Sequence[str]) -> Sequence[str]:
    return [group for group in ids if holds(group)]
