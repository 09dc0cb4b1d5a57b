"""The Insights screen shows findings: problems that kgtui has found in gold tables.

A Spark job computes gold tables from a recording of the cluster. The Insights screen reads these tables without a JVM.

| module | contents |
|---|---|
| `screen` | the screen: a table of findings, and the details of the finding under the cursor |
| `evidence` | the table that shows the evidence of a finding, which consists of rows of a gold table |
| `findings` | texts about findings, and the function that marks the groups of a finding in the group tree |
| `finding_plot` | the plot of the lag and rates of a finding's group |
"""
