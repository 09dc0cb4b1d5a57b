"""The Insights screen shows findings: problems of groups that a Spark job has found in a recording.

| module | contents |
|---|---|
| `screen` | the screen: table of findings, description, plot, evidence |
| `evidence` | the table with the evidence of a finding |
| `findings` | rows and sentences about findings; marks the groups of a finding in the tree |
| `finding_plot` | the plot of the lag and rates of a finding's group |

The Delta tables with the findings are read in a thread, without a JVM. `kgtui.insights` and `kgtui.lake` are imported
when these tables are read, so that kgtui starts faster.
"""
