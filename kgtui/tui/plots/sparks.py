"""Bars of block characters, one a cell, some rows high."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kgtui.tui import text

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " _.:-=+*#"


def spark_rows(values: Sequence[float], rows: int, top: float) -> list[str]:
    """Lines from top to bottom. Zero is the lowest bar, and what is not known is blank.

    Args:
        top: the value of a bar as high as all rows.
    """
    ramp = ASCII if text.look().ascii else BLOCKS
    steps = len(ramp) - 1
    heights = [0 if math.isnan(value) else max(1, round(value / (top or 1) * rows * steps)) for value in values]
    return [
        "".join(ramp[min(max(height - row * steps, 0), steps)] for height in heights) for row in reversed(range(rows))
    ]
