"""Jobs that read, transform and write tables, one module per layer of the lake.

`bronze` and `silver` are streaming queries that either stop when all existing data is processed, or keep running.
`gold` recomputes the days that have changed. `run` runs the jobs in order.
"""
