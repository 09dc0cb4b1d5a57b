"""The lake: one folder of Delta tables with the recording of a cluster and the tables that the pipeline derives.

It holds the table schemas, the folder, reading and writing of Delta tables, their maintenance, and a reader for the
gold tables. Imports `model` and `errors` only. deltalake and pyarrow are imported when a table is used, not before, so
that the pipeline can be shipped to executors that have neither.
"""
