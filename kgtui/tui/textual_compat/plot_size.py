"""Create plots that can be larger than the terminal size that plotext 5.3.2 detects.

By default, plotext limits a plot to the detected size. plotext's public function `limit_size` turns off this limit only
for plotext's global figure. This module creates a new figure, and turns off the limit with a private method of the new
figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual_plotext.plot import Plot


def unlimited_plot(width: int, height: int) -> Plot:
    """Create an empty plot of `width` times `height` terminal cells, even if plotext detects a smaller terminal."""
    from textual_plotext.plot import Plot

    plot = Plot()
    plot._limit_size(False, False)  # type: ignore[attr-defined]
    plot.plotsize(width, height)
    return plot
