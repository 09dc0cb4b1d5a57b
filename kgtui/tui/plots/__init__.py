"""Plots of a group's past as lines of cells: sparks of block characters, and curves where textual-plotext is installed.

Imports `model` and the UI's own text. `curves` alone knows textual-plotext (extra `plots`), and loads it when a curve
is drawn; drawing is pure and takes long enough to be done in a thread.
"""
