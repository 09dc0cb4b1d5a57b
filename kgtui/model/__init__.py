"""Values that describe groups, and pure functions over these values.

This package may import only `kgtui.errors` and the standard library, and RE2 for the filter language. It contains no
protocol bytes, sockets or widgets. An unknown value is always `None`, never 0.
"""
