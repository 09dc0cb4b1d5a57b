"""The lake: a folder of Delta tables, with the recording of a cluster and the results of the Spark pipeline.

The folder is on a local disk or in a store such as S3. deltalake, pyarrow and obstore are imported only when needed,
because Spark executors import this package too, and these three packages need not be installed there.

| module | contents |
|---|---|
| `schemas` | columns of all tables |
| `folder` | folder of a lake, with its small JSON files |
| `store` | paths and URIs of stores such as S3, and options for access to these stores |
| `store_errors` | explains errors of stores |
| `lock` | locks of a lake on a local disk; only one process at a time can record into a lake |
| `store_lock` | locks of a lake in a store |
| `lock_holder` | common interface of all locks, and the process that a lock file names |
| `writer` | writes polls into the recorded tables |
| `delta` | reads and writes one recorded table |
| `parquet` | Parquet files of recorded tables, sorted by group |
| `arrow` | converts between Python rows and Arrow tables |
| `tables` | lists the tables of a lake with their sizes, their first and last days, and their version numbers |
| `compaction` | merges small files of the tables that the pipeline writes (layers bronze, silver and gold) |
| `maintenance` | computes table sizes, compacts tables, and deletes old days |
| `gold` | reads the gold tables (the results of the pipeline) |
| `pending_days` | finds the days whose gold tables must be recomputed |
| `table_changes` | finds the earliest time in the rows that were added to a table after a given version |
"""
