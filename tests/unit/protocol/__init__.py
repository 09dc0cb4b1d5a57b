"""Tests of `kgtui.protocol` against Kafka's own classes and schemas, and against two other codecs."""
