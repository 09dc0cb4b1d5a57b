"""Parses and formats ranges of counts and times in the filter language, such as `1k+`, `..5m`, `1k..5k` or `0`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNT_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def names_of(units: Mapping[str, int]) -> str:
    """Return the names of units as text: `s, m, h and d`."""
    *others, last = filter(None, units)
    return f"{', '.join(others)} and {last}"


COUNT_EXPECTED = (
    f"expected a count such as 1k+ (at least), ..1k (at most), 1k..5k, 0 or unknown; units {names_of(COUNT_UNITS)}"
)
TIME_EXPECTED = (
    f"expected a time such as 5m+ (at least), ..30s (at most), 1h..2d, 0 or unknown; units {names_of(TIME_UNITS)}"
)

LARGEST = 10**15 - 1
"""Largest count, or number of seconds, that can be written in a range. A larger number is an error."""

_NUMBER = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?([A-Za-z]*)")
_ORDERED = re.compile(r"([<>]=?)(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers, including both ends.

    Attributes:
        low: smallest number; None for no lower bound.
        high: largest number; None for no upper bound.
        unknown: True if the user wrote `unknown` instead of a range, as in `lag:unknown`.
    """

    low: float | None = None
    high: float | None = None
    unknown: bool = False

    def holds(self, value: float, at_least: bool = False) -> bool | None:
        """Return whether a number is in the range; None if that is not known.

        It may not be known if kgtui knows only a lower bound of the number. The range `unknown`
        contains every such number, and no others.

        Args:
            value: the number, or a lower bound of the number.
            at_least: whether `value` is only a lower bound.
        """
        if self.unknown:
            return at_least
        low = self.low is None or value >= self.low
        if not at_least:
            return low and (self.high is None or value <= self.high)
        if self.high is not None:
            return False if value > self.high else None
        return True if low else None

    def spelled(self, units: Mapping[str, int]) -> str:
        """Return the range as text in the filter language. The text needs no quotes in a shell.

        Args:
            units: unit → factor: `COUNT_UNITS` or `TIME_UNITS`.
        """
        if self.unknown:
            return "unknown"
        low = "" if self.low is None else _spell(self.low, units)
        high = "" if self.high is None else _spell(self.high, units)
        if low == high:
            return low
        return f"{low}+" if self.high is None else f"{low}..{high}"


class RangeSyntaxError(ValueError):
    """The text is not a valid range. The message contains the reason."""


def read_range(text: str, units: Mapping[str, int]) -> Range:
    """Parse a range. Raises `RangeSyntaxError` if the text is not a valid range.

    Args:
        units: unit → factor: `COUNT_UNITS` or `TIME_UNITS`.
    """
    if text.lower() == "unknown":
        return Range(unknown=True)
    ordered = _ORDERED.fullmatch(text)
    if ordered is not None:
        return _ordered(ordered[1], _read(ordered[2], units), units)
    if text.endswith("+"):
        return Range(low=_read(text[:-1], units))
    low, dots, high = text.partition("..")
    if not dots:
        value = _read(text, units)
        return Range(value, value)
    if not low and not high:
        raise RangeSyntaxError("the range has neither a start nor an end")
    found = Range(_read(low, units) if low else None, _read(high, units) if high else None)
    if found.low is not None and found.high is not None and found.low > found.high:
        raise RangeSyntaxError("the range is empty: its start is larger than its end")
    return found


def _ordered(sign: str, value: float, units: Mapping[str, int]) -> Range:
    # Counts are integers, so `>5` means `6+`. For times, which are not integers, the difference between `>5m` and `5m+`
    # does not matter. Therefore, `>5m` is treated as `5m+`, and `<5m` as `..5m`.
    step = 1 if units is COUNT_UNITS and len(sign) == 1 else 0
    if sign[0] == ">":
        return Range(low=value + step)
    if value - step < 0:
        raise RangeSyntaxError("values are never less than 0")
    return Range(high=value - step)


def _read(text: str, units: Mapping[str, int]) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise RangeSyntaxError(f"{text!r} is not a number" if text else "a number is missing")
    whole, part, unit = match.groups()
    if unit == "K" and "k" in units:
        unit = "k"
    if unit not in units:
        known = ", ".join(name for name in units if name)
        hint = " (M is a million)" if unit == "m" and "M" in units else ""
        raise RangeSyntaxError(f"there is no unit {unit!r} here; units are {known}{hint}")
    value = Fraction(f"{whole}.{part or 0}") * units[unit]
    if value > LARGEST:
        raise RangeSyntaxError(f"{text!r} is too large")
    if units is not COUNT_UNITS:
        return float(value)
    if value.denominator != 1:
        raise RangeSyntaxError(f"{text!r} is not a whole number")
    return int(value)


def _spell(value: float, units: Mapping[str, int]) -> str:
    for unit, size in sorted(units.items(), key=lambda item: -item[1]):
        if unit and value and value % size == 0:
            return f"{int(value // size)}{unit}"
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")
