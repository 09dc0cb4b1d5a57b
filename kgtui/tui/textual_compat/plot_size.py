"""Create plots that may be larger than the terminal that plotext measures, which can be narrower than the screen.

plotext 5.3.2 limits the size of every plot to this terminal. Its public function `limit_size` disables the limit only
for plotext's global figure, so that this module calls the private method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual_plotext.plot import Plot


def unlimited_plot(width: int, height: int) -> Plot:
    """Create a plot of this size, in terminal cells, whatever the size of the terminal is."""
    from textual_plotext.plot import Plot

    plot = Plot()
    plot._limit_size(False, False)  # type: ignore[attr-defined]
    plot.plotsize(width, height)
    return plot
