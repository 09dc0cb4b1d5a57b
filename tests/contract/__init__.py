"""Suites that the simulator and real brokers pass alike."""
