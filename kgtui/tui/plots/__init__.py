"""Plots of a group's lag, rates, members and states over time, as lines of text.

If the optional dependency textual-plotext is installed (extra `plots`), `curves` uses this library, and imports it when
the first curve is drawn. Otherwise, plots consist of block characters. Drawing takes so long that callers should run it
in a thread, which is safe, because drawing uses no widgets.

| module | contents |
|---|---|
| `stacked_plots` | all plots of a group below each other on one time axis |
| `curves` | curves by textual-plotext, or bars if it is not installed |
"""
