"""Jobs that read, transform and write tables: one job for each layer of the lake (bronze, silver, gold).

Bronze tables contain Kafka records, silver tables decoded records, and gold tables results such as lag and health.

The bronze and silver jobs are streaming queries, which process all existing data once, or keep running. The gold job
recomputes all gold rows from the time of the earliest new input row onwards.

| module | contents |
|---|---|
| `bronze` | copies records of `__consumer_offsets` to table `coordinator_records` |
| `silver` | decodes bronze records into `commits`, `group_events`, `quarantine`; derives `rebalances` |
| `gold` | recomputes gold rows; `TABLES` lists the gold tables |
| `gold_inputs` | inputs of the gold job, and the time from which each table is recomputed |
| `run` | runs all jobs in order, once or continuously |
| `streaming` | starts, awaits and stops streaming queries |
| `table_maintenance` | compacts the tables during a continuous run |
"""
