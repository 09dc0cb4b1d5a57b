"""Tests that compare kgtui and the simulator with real brokers and with Kafka's own tools."""
