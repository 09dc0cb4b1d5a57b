"""Create plots without the size limit of plotext.

plotext 5.3.2 limits each plot to the detected size of the terminal, which may be smaller than the screen. Its public
function `limit_size` works only for the global figure, so this module calls a private method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual_plotext.plot import Plot


def unlimited_plot(width: int, height: int) -> Plot:
    """Create a plot of this size, in terminal cells."""
    from textual_plotext.plot import Plot

    plot = Plot()
    plot._limit_size(False, False)  # type: ignore[attr-defined]
    plot.plotsize(width, height)
    return plot
