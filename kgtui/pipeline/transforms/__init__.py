"""From DataFrames to DataFrames, one module a table: no reading, no writing, no session."""
