"""The Spark pipeline: compute the silver and gold tables from `__consumer_offsets` and from recordings.

The package needs kgtui's optional dependencies `spark` (`pip install 'kgtui[spark]'`). It also works through Spark
Connect.

| module | contents |
|---|---|
| `jobs` | the bronze, silver and gold jobs |
| `transforms` | functions from DataFrames to DataFrames, without access to the lake |
| `session` | starts and stops Spark sessions, or connects to Spark Connect |
| `requirements` | checks PySpark and Java, and finds or downloads jars |
| `jvm_decoder` | the SQL function that decodes records inside the JVM (Java source in the folder `jvm`) |
| `sources` | reads records of `__consumer_offsets` from Kafka or Parquet files |
| `spark_lake` | reads and writes Delta tables with Spark |
| `spark_schema` | converts DataFrames to the columns of a table |
| `code_archive` | sends kgtui's code to the executors of a cluster |
| `s3` | jars, options and credentials for lakes in S3 |
| `submit` | builds the `spark-submit` command for YARN and Kubernetes |
| `spark_errors` | Spark's errors as one-sentence messages |

The package is sent to Spark executors, together with `model`, `protocol`, `lake` and two small modules. It imports no
other part of kgtui, because executors may lack the libraries that other parts need. No other package imports PySpark,
so that kgtui also runs without PySpark.
"""
