"""The Spark pipeline: computes the silver and gold tables from `__consumer_offsets` and from recordings.

It needs the extra `spark`. `session` starts Spark or connects to it, `sources` reads records, `spark_lake` reads and
writes tables, `transforms` computes their rows, and `jobs` combines these.

It may import only `model`, `protocol` and `lake`, so that its code can be shipped to Spark executors. No other package
imports pyspark. Everything also works through Spark Connect.
"""
