"""Values that describe groups, and pure functions over these values.

This package may import only `kgtui.errors`, the standard library and, for the filter language, RE2. It contains no
protocol bytes, sockets or widgets. An unknown value is always `None`, never 0.
"""
