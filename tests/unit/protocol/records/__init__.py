"""Tests of `kgtui.protocol.records`, which decodes and encodes the records of `__consumer_offsets`."""
