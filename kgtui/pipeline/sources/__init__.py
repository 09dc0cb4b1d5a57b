"""Where records come from: a cluster, by Spark's Kafka source, or a folder of files."""
