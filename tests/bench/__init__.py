"""Benchmarks of kgtui. `tests/bench/README.md` describes them."""
