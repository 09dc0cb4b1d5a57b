"""Tests of the records in `__consumer_offsets`."""
