"""The Spark pipeline: computes the silver and gold tables from `__consumer_offsets` and from recordings.

It needs the extra `spark`. `session` starts Spark or connects to it, `sources` reads records, `spark_lake` reads and
writes tables, `transforms` computes their rows, and `jobs` combines these.

Of kgtui's packages, it may import only `model`, `protocol` and `lake`. These three load without third-party libraries,
so that they can be sent to Spark executors together with the pipeline. No other package imports PySpark. All of the
pipeline also works through Spark Connect.
"""
