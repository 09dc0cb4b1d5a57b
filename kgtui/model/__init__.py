"""Immutable data classes for groups, offsets, members and clusters, and pure functions that compute with them.

This package may import only `kgtui.errors`, the standard library and, for the filter language, RE2. It knows nothing of
the Kafka protocol, of sockets or of the user interface. An unknown value is always `None`, never 0.
"""
