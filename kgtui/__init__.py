"""kgtui shows and manages all groups of a Kafka cluster: in a terminal UI, on the command line, and in Python.

The README lists the packages of kgtui. The docstring of each package lists the modules of this package, and the other
packages that these modules may import.
"""

__version__ = "0.1.0"
