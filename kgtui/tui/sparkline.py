"""Sparklines: bars of block characters, one terminal cell wide."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " _.:-=+*#"


def spark_rows(values: Sequence[float], rows: int, top: float) -> list[str]:
    """Draw one bar of block characters per value, and return the lines from top to bottom.

    The value 0 is drawn as the lowest bar, and NaN as a blank.

    Args:
        values: one value per terminal cell.
        rows: number of lines.
        top: value whose bar fills all lines.
    """
    ramp = ASCII if text.display_settings().ascii else BLOCKS
    steps = len(ramp) - 1
    heights = [0 if math.isnan(value) else max(1, round(value / (top or 1) * rows * steps)) for value in values]
    return [
        "".join(ramp[min(max(height - row * steps, 0), steps)] for height in heights) for row in reversed(range(rows))
    ]
