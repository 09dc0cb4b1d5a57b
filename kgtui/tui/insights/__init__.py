"""The Insights screen: findings from the tables of a lake, read in a thread and without a JVM.

- `screen` is the screen with its tables
- `findings` turns findings into rows and sentences, and marks unused groups in the tree
- `evidence` turns the evidence of a finding into the rows of a table
- `finding_plot` plots the lag of a finding's group

The package imports the tables of the panes and the plots, and `kgtui.insights` and `kgtui.lake` once tables are read.
"""
