"""Jobs that read, transform and write tables: one job for each layer (bronze, silver, gold).

A lake is a folder with tables. The bronze table contains undecoded records of `__consumer_offsets`,
the silver tables contain decoded records, and the gold tables contain results such as lag and
health.

The bronze and silver jobs are streaming queries, which process all existing data once, or keep
running. The gold job finds the earliest new row in its input tables, and recomputes all rows of the
gold tables from this time on.

| module | contents |
|---|---|
| `bronze` | copies records of `__consumer_offsets` to table `coordinator_records` |
| `silver` | decodes these records, and writes the four silver tables |
| `gold` | recomputes gold rows; `TABLES` lists the gold tables |
| `gold_inputs` | inputs of the gold job, and the time from which each table is recomputed |
| `run` | runs all jobs in order, once or continuously |
| `streaming` | starts and stops streaming queries, and waits for their end |
| `table_maintenance` | compacts the tables during a continuous run |
"""
