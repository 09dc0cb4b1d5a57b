"""A report as one HTML page: no script, nothing from the network, plots as inline SVG, light or dark as the reader's
browser is. Text from a cluster gets into it through `html.name` and `html.text` alone.
"""

from __future__ import annotations

from kgtui.output.report.page import page

__all__ = ["page"]
