"""Create plots that can be larger than the terminal size that plotext 5.3.2 detects.

plotext's function `limit_size` can turn off this limit only for plotext's global figure. This module creates its own
figure, and turns off the limit by calling a private method of the figure.
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
