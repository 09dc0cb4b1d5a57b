"""Jobs that read, transform and write tables. There is one module per layer of the lake: `bronze`, `silver` and `gold`.

The bronze and silver jobs are streaming queries, which either stop when they have processed all existing data, or keep
running. The gold job recomputes the rows whose inputs have changed.

| module | contents |
|---|---|
| `bronze` | copies records of `__consumer_offsets` to table `coordinator_records` |
| `silver` | decodes bronze rows into `commits`, `group_events` and `quarantine`, and derives `rebalances` |
| `gold` | recomputes the gold rows whose inputs changed; `BUILDERS` lists the gold tables |
| `gold_inputs` | the tables that the gold job reads, and the time from which it recomputes each gold table |
| `run` | runs all jobs in order, once or continuously |
| `streaming` | starts, awaits and stops Spark's streaming queries for bronze and silver |
"""
