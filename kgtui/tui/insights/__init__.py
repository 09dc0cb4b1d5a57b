"""The Insights screen shows findings. A finding is a problem of one or more groups that kgtui has found in gold tables.

Gold tables are Delta tables that a Spark job computes from a recording of the cluster.

| module | contents |
|---|---|
| `screen` | the screen: a table of findings, and the description, plot and evidence of the finding under the cursor |
| `evidence` | the table with the evidence of a finding: rows of a gold table |
| `findings` | texts about findings; marks the groups of a finding in the tree |
| `finding_plot` | the plot of the lag and rates of a finding's group |

The gold tables are read in a thread. No JVM is needed. `kgtui.insights` and `kgtui.lake` are imported only when the
tables are read, so that kgtui starts faster.
"""
