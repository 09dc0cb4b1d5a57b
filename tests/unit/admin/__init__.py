"""Unit tests of `kgtui.admin` against brokers that are Python functions."""
