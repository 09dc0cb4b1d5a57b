"""Where records come from: a cluster, by Spark's Kafka source, or a folder of files."""

from __future__ import annotations

COLUMNS = ("partition", "offset", "timestamp", "key", "value")
"""What every source gives: a record of `__consumer_offsets`, its key and value as bytes."""
