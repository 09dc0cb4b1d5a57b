"""The Spark pipeline: from records of `__consumer_offsets` and recordings to answers. Needs the extra `spark`.

`session` starts Spark or connects to it, `sources` reads records, `lake` reads and writes the tables; `transforms` are
pure functions from DataFrames to DataFrames, one module a table; `jobs` put these together.

Imports the model, the protocol, and of the history its table schemas and the lake's folder, so that it can be shipped
to executors. The only importer of pyspark; what works in a session in this process works through Spark Connect too.
"""
