"""The session itself: who can reach a Spark that runs on this machine."""

from __future__ import annotations

import os
import sys
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LISTENING = "0A"


def listening(process: int) -> list[str]:
    """The addresses at which a process listens, as Linux tells them."""
    held = {os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir() if path.is_symlink()}
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == _LISTENING and f"socket:[{rest[5]}]" in held:
                words = bytes.fromhex(local.partition(":")[0])
                address = ip_address(b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4)))
                mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
                found.append(str(mapped or address))
    return found


def test_nobody_reaches_it_from_another_machine(spark: SparkSession) -> None:
    if sys.platform != "linux":
        assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
        return
    assert spark._jvm is not None
    # The driver, its blocks and the Spark Connect server.
    found = listening(spark._jvm.ProcessHandle.current().pid())
    assert len(found) >= 3
    assert set(found) <= {"127.0.0.1", "::1"}
