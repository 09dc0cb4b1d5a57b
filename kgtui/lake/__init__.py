"""The lake: one folder of Delta tables with the recording of a cluster and the tables that the pipeline derives.

The folder is on a local disk or in a store, such as S3. This package works without Spark. It imports only `model` and
`errors`. deltalake, pyarrow and obstore are imported when a table is used, because Spark executors may lack them.

| module | contents |
|---|---|
| `schemas` | the columns of all tables |
| `folder` | the folder of a lake, its marker file and its retention file |
| `store` | paths and URIs of stores, and storage options |
| `store_errors` | explains errors of stores |
| `lock` | the lock file, so that only one process records into a lake |
| `store_lock` | the lock file of a lake in a store |
| `lock_holder` | the process that a lock file names |
| `writer` | writes polls into the recorded tables |
| `delta` | appends to, reads, compacts and prunes one recorded table |
| `parquet` | the Parquet files of recorded tables, sorted by group |
| `arrow` | converts between Python rows and Arrow tables |
| `tables` | lists the tables of a lake with files, days and versions |
| `compaction` | merges the small files of one bronze, silver or gold table |
| `maintenance` | table sizes, compaction, and deletion of old days |
| `gold` | reads the gold tables |
| `pending_days` | the time from which gold tables must be recomputed |
| `table_changes` | the earliest time of the rows that new versions of a table have added |
"""
