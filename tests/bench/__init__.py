"""Benchmarks: tables of ratios, no assertions about time."""
