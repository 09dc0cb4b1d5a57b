"""Define `Figure`, one result of a benchmark, and functions that format figures as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Figure:
    """One result of a benchmark.

    Attributes:
        unit: unit of `value` and of `reference`.
        reference_name: program or condition with which `reference` was measured, such as `minimal app`.
        reference: value to compare with `value`; None for no comparison.
        target: maximum of `value`, or of `ratio` if `of_ratio` is true; None for no target.
    """

    name: str
    value: float
    unit: str
    reference_name: str = ""
    reference: float | None = None
    target: float | None = None
    of_ratio: bool = False

    @property
    def ratio(self) -> float | None:
        """`value` divided by `reference`; None if there is no reference, or if it is 0."""
        return self.value / self.reference if self.reference else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is no target, or if it is a target for `ratio` and that is None."""
        value = self.ratio if self.of_ratio else self.value
        return None if self.target is None or value is None else value <= self.target


_WIDTHS = (88, 13, 13, 9, 10, 6)


def table(figures: Iterable[Figure]) -> Iterator[str]:
    """Yield a heading, and then one line per benchmark result as soon as the result has been measured."""
    yield _line("what", "kgtui", "reference", "ratio", "target", "", "reference is")
    for figure in figures:
        target = "" if figure.target is None else f"≤ {_number(figure.target)}{'×' if figure.of_ratio else ''}"
        met = {True: "ok", False: "MISS", None: ""}[figure.met]
        ratio = "" if figure.ratio is None else _number(figure.ratio)
        reference = "" if figure.reference is None else f"{_number(figure.reference)} {figure.unit}"
        value = f"{_number(figure.value)} {figure.unit}"
        yield _line(figure.name, value, reference, ratio, target, met, figure.reference_name)


def _line(name: str, *cells: str) -> str:
    columns = [cell.rjust(width) for cell, width in zip(cells, _WIDTHS[1:], strict=False)]
    return f"{name:<{_WIDTHS[0]}}{''.join(columns)}  {cells[-1]}".rstrip()


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def percentile(values: list[float], fraction: float) -> float:
    """Return a percentile of `values`, such as the 99th for the fraction 0.99. The result is one of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]
