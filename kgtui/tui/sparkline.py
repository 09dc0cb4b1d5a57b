"""Draw sparklines and bars with block characters, or with ASCII characters in ASCII mode."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " _.:-=+*#"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def spark_rows(values: Sequence[float], rows: int, top: float) -> list[str]:
    """Draw one vertical bar per value. Return the drawing as `rows` lines of text, from top to bottom.

    0 is drawn as the smallest possible bar, and NaN as a blank.

    Args:
        values: the values from left to right. Each bar is one terminal cell wide.
        top: the value whose bar fills all `rows` lines.
    """
    ramp = ASCII if text.display_settings().ascii else BLOCKS
    steps = len(ramp) - 1
    heights = [0 if math.isnan(value) else max(1, round(value / (top or 1) * rows * steps)) for value in values]
    return [
        "".join(ramp[min(max(height - row * steps, 0), steps)] for height in heights) for row in reversed(range(rows))
    ]


def bar(value: float, top: float, width: int) -> str:
    """Return a horizontal bar as text, for example `███▌`; empty if `value` is not above 0.

    Args:
        top: value whose bar has the full length.
        width: the full length in terminal cells.
    """
    if value <= 0 or top <= 0:
        return ""
    fraction = min(value / top, 1.0)
    if text.display_settings().ascii:
        return "#" * max(round(fraction * width), 1)
    eighths = max(round(fraction * width * 8), 1)
    return EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def scale_of(largest: float) -> float:
    """Return the value that a full bar stands for: `largest`, rounded up to a number such as 15, 20 or 30.

    Without rounding, each small change of the largest value would change the lengths of all bars.
    """
    if largest <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(factor * power for factor in (1, 1.5, 2, 3, 5, 7, 10) if largest <= factor * power * (1 + 1e-9))
