"""Tests that compare kgtui with real brokers and Kafka's own tools, and the simulator with real brokers."""
