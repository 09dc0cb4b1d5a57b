"""The records of group coordinators."""
