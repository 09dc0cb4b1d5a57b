"""What a benchmark says: a figure beside something measured in the same run, and the aim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        unit: of `ours` and of `theirs`.
        against: what `theirs` is; empty where there is nothing to compare with.
        aim: the most that `ours` may be in its unit, or a ratio if `of_ratio`; None if it is only for information.
    """

    name: str
    ours: float
    unit: str
    against: str = ""
    theirs: float | None = None
    aim: float | None = None
    of_ratio: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours as a share of theirs."""
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; None without one."""
        value = self.ratio if self.of_ratio else self.ours
        return None if self.aim is None or value is None else value <= self.aim


_WIDTHS = (62, 13, 13, 9, 10, 6)


def table(figures: Iterable[Figure]) -> Iterator[str]:
    """The lines of the table, each as soon as its figure is there."""
    yield _line("what", "ours", "theirs", "ratio", "aim", "", "theirs is")
    for figure in figures:
        aim = "" if figure.aim is None else f"≤ {_number(figure.aim)}{'×' if figure.of_ratio else ''}"
        met = {True: "ok", False: "MISS", None: ""}[figure.met]
        ratio = "" if figure.ratio is None else _number(figure.ratio)
        theirs = "" if figure.theirs is None else f"{_number(figure.theirs)} {figure.unit}"
        yield _line(figure.name, f"{_number(figure.ours)} {figure.unit}", theirs, ratio, aim, met, figure.against)


def _line(name: str, *cells: str) -> str:
    columns = [cell.rjust(width) for cell, width in zip(cells, _WIDTHS[1:], strict=False)]
    return f"{name:<{_WIDTHS[0]}}{''.join(columns)}  {cells[-1]}".rstrip()


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of all lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
