"""Plots of a group's lag, rates, members and states over time, as lines of text.

The package imports `model` and the texts of the screen. With the extra `plots`, `curves` draws curves with
textual-plotext, which is imported for the first curve; without it, plots consist of block characters. Drawing touches
no widget, and takes long enough that the callers run it in a thread.
"""
