"""Jobs that read, transform and write tables: one module per layer of the lake.

Bronze and silver are streaming queries. They process all existing data once, or keep running. Gold recomputes the rows
whose inputs have changed.

| module | contents |
|---|---|
| `bronze` | copies records of `__consumer_offsets` to table `coordinator_records` |
| `silver` | decodes these records into `commits`, `group_events`, `quarantine`; derives `rebalances` |
| `gold` | recomputes gold rows; `TABLES` lists the gold tables |
| `gold_inputs` | inputs of the gold job, and the time from which each table is recomputed |
| `run` | runs all jobs in order, once or continuously |
| `streaming` | starts, awaits and stops streaming queries |
| `table_maintenance` | compacts the tables during a continuous run |
"""
