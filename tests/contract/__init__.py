"""Tests that compare kgtui and its simulator with real brokers and with Kafka's own tools."""
