"""Fetch Kafka's jars for the tests, and run Java clients that keep groups alive."""
