"""Plots of a group's lag, rates, members and states over time, as lines of text.

Curves need textual-plotext (extra `plots`), which is imported when the first curve is drawn. Without textual-plotext,
plots consist of bars of block characters. Drawing takes long, so callers should run it in a thread. This is possible
because drawing uses no widgets.

| module | contents |
|---|---|
| `stacked_plots` | all plots of a group below each other on one time axis |
| `curves` | curves by textual-plotext |
"""
