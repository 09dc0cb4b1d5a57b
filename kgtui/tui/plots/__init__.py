"""Plots of a group's lag, rates, members and states over time, as lines of text.

Curves need the package textual-plotext (extra `plots`). Without this package, plots consist of bars of block
characters. Drawing takes tens of milliseconds, so callers should run it in a thread.

| module | contents |
|---|---|
| `stacked_plots` | all plots of a group below each other on one time axis |
| `curves` | curves by textual-plotext |
"""
