"""Plots of a group's lag, rates, members and states over time, as lines of text.

Curves need textual-plotext (extra `plots`), which is imported when the first curve is drawn. Without textual-plotext,
plots consist of bars of block characters. Drawing takes long, but uses no widgets, so callers should run it in a
thread.

| module | contents |
|---|---|
| `stacked_plots` | all plots of a group below each other on one time axis |
| `curves` | curves by textual-plotext |
"""
