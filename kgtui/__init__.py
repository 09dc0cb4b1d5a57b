"""kgtui shows and manages every group of a Kafka cluster: in a terminal, on the command line, and from Python.

The README describes the packages and which of them may import which; import-linter enforces it.
"""

__version__ = "0.1.0"
