"""Pure functions from DataFrames to DataFrames, one module per silver or gold table; they read and write nothing."""
