"""Formats numbers as texts for users: numbers of bytes, short numbers such as `1.3M`, and numbers with a noun."""

from __future__ import annotations

_THOUSAND = 1_000
_TEN = 10


def in_bytes(count: int) -> str:
    """Format a number of bytes as a short text with a decimal unit: `512 B`, `4.2 MB`, `38 GB`."""
    if count < _THOUSAND:
        return f"{count} B"
    amount, units = count / _THOUSAND, ["TB", "GB", "MB", "kB"]
    while amount >= _THOUSAND - 0.5 and len(units) > 1:
        amount /= _THOUSAND
        units.pop()
    unit = units[-1]
    return f"{amount:.1f} {unit}" if amount < _TEN else f"{amount:.0f} {unit}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a number of things with their noun: `1 record`, `3,121 groups`, `2 batches`.

    Args:
        noun: the noun in the singular.
        plural: the noun in the plural; by default, `noun` with an `s`.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def short(amount: float) -> str:
    """Format a number, such as a lag in records, as a short text: `950`, `18.2k`, `1.3M`."""
    size = abs(amount)
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit:
            return f"{amount / limit:.1f}{unit}"
    return f"{amount:.0f}" if size >= _TEN or amount == int(amount) else f"{amount:.1f}"
