"""`Pool` options with short pauses, so that tests of failures are fast."""

from __future__ import annotations

from kgtui.client.pool import PoolOptions

QUICK = PoolOptions(connect_timeout=30.0, backoff=0.01, backoff_max=0.02, head_start=0.05, retry_pause=0.01, stall=0.05)
