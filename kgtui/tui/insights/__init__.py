"""The Insights screen shows findings: problems of groups that kgtui has found in gold tables.

Gold tables are Delta tables that a Spark job computes from a recording of the cluster.

| module | contents |
|---|---|
| `screen` | the screen: table of findings, description, plot, evidence |
| `evidence` | the table with the evidence of a finding |
| `findings` | texts about findings; marks the groups of a finding in the tree |
| `finding_plot` | the plot of the lag and rates of a finding's group |

The gold tables are read in a thread, without a JVM. `kgtui.insights` and `kgtui.lake` are imported when the tables are
read, so that kgtui starts faster.
"""
