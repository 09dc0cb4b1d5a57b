"""The Spark pipeline: compute the silver and gold tables from `__consumer_offsets` and from recordings.

The package needs the extra `spark`. `session` starts Spark or connects to it, `sources` reads records, `spark_lake`
reads and writes tables, `transforms` computes their rows, and `jobs` combines these modules.

It may import only three other packages of kgtui: `model`, `protocol` and `lake`. These load without third-party
libraries, so that they can be sent to Spark executors together with the pipeline. No other package imports PySpark, so
that kgtui runs without the extra. The whole pipeline also works through Spark Connect.
"""
