"""Tests that run the pipeline in Spark."""

import pytest

pytest.register_assert_rewrite("tests.spark.record_samples")
