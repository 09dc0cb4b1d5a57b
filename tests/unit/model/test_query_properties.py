"""Property-based tests of the filter language, with generated filters and random text."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kgtui.errors import QueryError
from kgtui.model.query import FilterCache, Query, parse
from kgtui.model.query.patterns import Glob
from kgtui.model.query.ranges import COUNT_UNITS, TIME_UNITS, Range, read_range
from kgtui.model.query.terms import FlagTerm, IdMatch, IdTerm, ListingTerm, NameTerm, NumberTerm
from kgtui.model.slices import run_at_once
from tests.unit.model.query_snapshots import CLASSIC, CONSUMER, mixed_snapshot, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

anything = st.text(max_size=30)
typed = st.text(alphabet='abk01.:,"/\\!*?%+- <>[](){}^$\n\u202e\ud800é', max_size=40)
words = st.text(min_size=1, max_size=12)


@st.composite
def globs(draw: st.DrawFn) -> Glob:
    text = draw(st.text(alphabet=st.one_of(st.sampled_from("*?%ab.:/,! "), st.characters()), max_size=8))
    places = [index for index, char in enumerate(text) if char in "*?"]
    return Glob(text, frozenset(draw(st.sets(st.sampled_from(places)) if places else st.just(set()))))


@st.composite
def ranges(draw: st.DrawFn, whole: bool) -> Range:
    if draw(st.booleans()) and draw(st.booleans()):
        return Range(unknown=True)
    numbers: st.SearchStrategy[float] = st.integers(0, 10**12)
    if not whole:
        numbers = st.integers(0, 10**9).map(lambda milli: milli / 1000)
    low, high = sorted((draw(numbers), draw(numbers)))
    shape = draw(st.integers(0, 2))
    return Range(None if shape == 1 else low, None if shape == 2 else high)


negated = st.booleans()
terms = st.one_of(
    st.builds(
        IdTerm,
        st.lists(st.builds(IdMatch, st.just("word"), anything), min_size=1, max_size=3).map(tuple),
        negated,
    ),
    st.builds(
        IdTerm, st.lists(st.builds(IdMatch, st.just("fuzzy"), words), min_size=1, max_size=2).map(tuple), negated
    ),
    st.builds(ListingTerm, st.sampled_from(["protocol", "coordinator"]), st.tuples(globs()), negated),
    st.builds(NameTerm, st.sampled_from(["topic", "client", "host", "member"]), st.tuples(globs(), globs()), negated),
    st.builds(NumberTerm, st.sampled_from(["members", "lag"]), st.tuples(ranges(whole=True)), negated),
    st.builds(NumberTerm, st.sampled_from(["empty", "age"]), st.tuples(ranges(whole=False)), negated),
    st.builds(FlagTerm, st.sampled_from(["fault", "marked"]), st.booleans(), negated),
)


@given(st.lists(terms, max_size=5))
def test_filter_written_as_text_and_parsed_again_is_unchanged(parts: list[IdTerm]) -> None:
    query = Query(tuple(parts))
    assert parse(query.describe()) == query


@given(st.one_of(typed, anything))
def test_every_invalid_filter_causes_an_error_with_a_position(text: str) -> None:
    mistake: QueryError | None = None
    try:
        query = parse(text)
    except QueryError as error:
        mistake = error
    if mistake is None:
        assert parse(query.describe()) == query
        return
    assert 0 <= mistake.position <= len(text)
    assert 1 <= mistake.length <= len(text) + 1 - mistake.position
    assert str(mistake)
    assert mistake.expected


@given(st.lists(terms, min_size=1, max_size=3))
def test_selected_groups_match_all_terms_of_the_filter(parts: list[IdTerm]) -> None:
    snap = mixed_snapshot()
    query = Query(tuple(parts))
    found = set(query.select(snap))
    assert found == {group for group in snap.groups if query.matches(group, snap)}
    for part in parts:
        assert found <= set(Query((part,)).select(snap))


@given(st.lists(st.tuples(st.lists(terms, max_size=2), st.booleans()), max_size=6))
def test_filter_selects_the_same_groups_with_and_without_the_filter_cache(
    passes: list[tuple[list[IdTerm], bool]],
) -> None:
    cache, snap = FilterCache(), mixed_snapshot()
    for parts, changed in passes:
        if changed:
            listing, ids = next(iter(snap.by_listing.items()))
            snap = replace(snap, by_listing={**snap.by_listing, listing: ids[1:]})
        query = Query(tuple(parts))
        assert run_at_once(query.choose(snap, cache=cache)) == run_at_once(query.choose(snap))


@given(st.text("abA.-", min_size=1, max_size=4), st.text("abA.-", max_size=4), st.lists(st.text("abA.-B", max_size=8)))
def test_ids_that_match_a_word_also_match_its_beginning(word: str, more: str, ids: list[str]) -> None:
    longer, shorter = IdTerm((IdMatch("word", word + more),)), IdTerm((IdMatch("word", word),))
    assert longer.within(shorter)
    assert set(longer.filter(ids)) <= set(shorter.filter(ids))
    assert not longer.within(replace(shorter, negated=True))
    assert not replace(longer, negated=True).within(shorter)


def test_filter_cache_lets_later_searches_test_fewer_ids() -> None:
    """After a search for `o`, a search for `or` tests only the ids that matched `o`.

    If a search for the same text is repeated, it tests only the lists of ids that have changed since then.
    """
    names = ("orders", "stock", "x-ray")
    snap = snapshot({f"{name}-{number}": (CONSUMER, CLASSIC)[number % 2] for name in names for number in range(8)})
    cache = FilterCache()
    tested: list[int] = []

    class Counted(IdTerm):
        def filter(self, ids: Sequence[str]) -> Sequence[str]:
            tested.append(len(ids))
            return super().filter(ids)

    def pass_over(word: str) -> tuple[int, int]:
        tested.clear()
        found = run_at_once(Query((Counted((IdMatch("word", word),)),)).choose(snap, cache=cache))
        return sum(tested), sum(map(len, found.values()))

    assert pass_over("o")[0] == len(snap.groups)
    left = pass_over("o")
    assert left[0] == 0
    assert 0 < left[1] < len(snap.groups)
    assert pass_over("or")[0] == left[1]
    assert pass_over("x")[0] == len(snap.groups)
    pass_over("o")
    listing, ids = max(snap.by_listing.items(), key=lambda item: len(item[1]))
    snap = replace(snap, by_listing={**snap.by_listing, listing: ids[1:]})
    assert pass_over("o")[0] == len(ids) - 1


@given(terms)
def test_no_group_matches_both_a_filter_term_and_its_negation(term: IdTerm) -> None:
    snap = mixed_snapshot()
    yes = set(Query((term,)).select(snap))
    no = set(Query((replace(term, negated=not term.negated),)).select(snap))
    assert not yes & no


@given(st.integers(0, 10**9), st.sampled_from(["", "k", "M"]))
def test_suffixes_k_and_m_in_a_filter_mean_thousand_and_million(number: int, unit: str) -> None:
    text = f"{number}{unit}"
    value = number * COUNT_UNITS[unit]
    if value > 10**14:
        return
    assert read_range(text, COUNT_UNITS) == Range(value, value)
    assert read_range(f"{text}+", COUNT_UNITS) == Range(low=value)
    assert read_range(f"..{text}", COUNT_UNITS) == Range(high=value)
    assert read_range(f">{text}", COUNT_UNITS) == Range(low=value + 1)
    assert read_range(f"0..{text}", COUNT_UNITS).spelled(COUNT_UNITS)


@given(st.integers(0, 10**6), st.integers(0, 999), st.sampled_from(list(TIME_UNITS)))
def test_time_with_a_unit_in_a_filter_is_converted_to_seconds(whole: int, milli: int, unit: str) -> None:
    found = read_range(f"{whole}.{milli:03d}{unit}+", TIME_UNITS)
    assert found.low == float(Fraction(whole * 1000 + milli, 1000) * TIME_UNITS[unit])
