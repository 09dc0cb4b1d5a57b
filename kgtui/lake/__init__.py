"""The lake: one folder of Delta tables with the recording of a cluster and the tables that the pipeline derives.

This package has the table schemas, reads, writes and maintains the Delta tables, and has a reader for the gold tables.
It imports only `model` and `errors`. deltalake and pyarrow are imported when a table is used, because the pipeline
imports this package on Spark executors, where they need not be installed.
"""
