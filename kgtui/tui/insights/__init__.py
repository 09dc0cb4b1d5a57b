"""Insights: what the tables of a lake say that somebody should know, read beside the loop and never by a JVM.

`screen` puts it together; `rows`, `evidence` and `age` are pure functions from findings to cells, `plot` draws how a
group went, `marks` hands unused groups to the tree. Imports the panes' tables and the plots, and `history` when tables
are read.
"""
