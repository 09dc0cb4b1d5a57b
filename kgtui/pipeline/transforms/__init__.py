"""Functions from DataFrames to DataFrames that compute the silver and gold tables. They do not access the lake."""
