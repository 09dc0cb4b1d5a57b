"""Test that the package `kgtui.protocol` imports only the standard library and `kgtui.errors`."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
import kgtui.protocol.fast_list_groups, kgtui.protocol.fast_offsets, kgtui.protocol.header, kgtui.protocol.error_codes
import kgtui.protocol.member_data.consumer, kgtui.protocol.member_data.connect
import kgtui.protocol.member_data.schema_registry, kgtui.protocol.records
kgtui = {name for name in sys.modules if name.split('.')[0] == 'kgtui'}
print(sorted(n for n in kgtui if not n.startswith('kgtui.protocol') and n not in ('kgtui', 'kgtui.errors')))
rest = {name.split('.')[0] for name in set(sys.modules) - before} - {'kgtui'} - sys.stdlib_module_names
print(sorted(rest), 'socket' in sys.modules, 'asyncio' in sys.modules)
"""


def test_protocol_package_imports_only_the_standard_library_and_kgtui_errors() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "[] False False"]
