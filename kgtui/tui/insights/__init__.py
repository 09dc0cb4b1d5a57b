"""The Insights screen, which shows the findings about groups that Spark has computed from a recording (a lake).

- `screen` is the screen with its widgets
- `findings` turns findings and their evidence into rows and sentences, and marks unused groups in the tree
- `finding_plot` plots the lag of the group that a finding is about

The tables of the lake are read in a thread and without a JVM. `kgtui.insights` and `kgtui.lake` are imported only when
tables are read, so that kgtui starts faster.
"""
