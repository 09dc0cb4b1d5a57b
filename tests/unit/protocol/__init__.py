"""Tests of `kgtui.protocol` against Kafka's own classes and schemas, and against the libraries kio and kafka-python."""
