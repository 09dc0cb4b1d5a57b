"""The Spark pipeline, which computes tables from `__consumer_offsets` and from kgtui's recordings.

The pipeline needs PySpark (`pip install 'kgtui[spark]'`). It also works through Spark Connect.

Terms:

- recording: tables in which `kgtui record` has stored its polls. In each poll, kgtui reads the
  state of all groups in a cluster.
- bronze table: undecoded records of `__consumer_offsets`
- silver tables: decoded records of `__consumer_offsets`, and the rebalances that they show
- gold tables: results, such as the lag and the health of each group
- lake: folder, local or in an object store, that contains all these tables as Delta tables

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
| `spark_errors` | translates Spark's errors into short messages for users |

On a cluster, this package is sent to the Spark executors together with kgtui's `model`, `protocol`,
`lake`, `errors` and `private_files`. The package imports nothing else from kgtui, because the other
parts of kgtui need libraries that are not installed on every executor.
"""
