"""Tests of the pipeline that run Spark."""

import pytest

pytest.register_assert_rewrite("tests.spark.record_samples")
