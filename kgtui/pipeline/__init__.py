"""The Spark pipeline, which computes silver and gold tables from `__consumer_offsets` and from recordings.

A recording consists of tables in which kgtui has stored its polls of a cluster. Silver tables contain decoded records
of `__consumer_offsets`. Gold tables contain results, such as the lag and the health of each group. A lake is a folder,
local or in an object store, with all these tables as Delta tables. The pipeline needs `pip install 'kgtui[spark]'`. It
also works through Spark Connect.

| module | contents |
|---|---|
| `jobs` | the bronze, silver and gold jobs |
| `transforms` | functions that compute the rows of tables; they take and return DataFrames |
| `session` | starts and stops Spark sessions |
| `requirements` | checks PySpark and Java, and downloads jars |
| `jvm_decoder` | SQL function that decodes records inside the JVM |
| `sources` | reads `__consumer_offsets` from Kafka or Parquet files |
| `spark_lake` | reads and writes Delta tables with Spark |
| `spark_schema` | converts DataFrames to the columns of a table |
| `code_archive` | sends kgtui's code to the executors of a cluster |
| `s3` | jars, options and credentials for lakes in S3 |
| `submit` | `spark-submit` command for YARN and Kubernetes |
| `spark_errors` | translates Spark's errors into one-sentence messages for users |

The package is sent to Spark executors together with `model`, `protocol`, `lake`, `errors` and `private_files`. It
imports nothing else from kgtui, because the other parts of kgtui need libraries that are not on every executor.
"""
