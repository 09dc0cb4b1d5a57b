"""Jobs that read, transform and write tables. There is one module per layer of the lake: `bronze`, `silver` and `gold`.

The bronze and silver jobs are streaming queries, which either stop when they have processed all existing data, or keep
running. The gold job recomputes the days whose inputs have changed. The module `run` runs the jobs in order.
"""
