"""Test that a local Spark session listens only on the loopback interface."""

from __future__ import annotations

import os
import sys
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LISTEN = "0A"
"""Code of the TCP state LISTEN in Linux's `/proc/net/tcp`."""


def listening_addresses(process: int) -> list[str]:
    """Return the IP address of each TCP socket on which the process with the id `process` listens, from `/proc`."""
    sockets = {os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir() if path.is_symlink()}
    addresses = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == _LISTEN and f"socket:[{rest[5]}]" in sockets:
                # `local` is ADDRESS:PORT in hexadecimal. On little-endian machines, the bytes of each 32-bit word
                # of the address are in reverse order.
                data = bytes.fromhex(local.partition(":")[0])
                address = ip_address(b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4)))
                mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
                addresses.append(str(mapped or address))
    return addresses


def test_a_local_spark_session_listens_only_on_the_loopback_interface(spark: SparkSession) -> None:
    if sys.platform != "linux":
        assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
        return
    assert spark._jvm is not None
    addresses = listening_addresses(spark._jvm.ProcessHandle.current().pid())
    assert len(addresses) >= 3, "the driver, the block manager and the Spark Connect server each listen on a port"
    assert set(addresses) <= {"127.0.0.1", "::1"}
