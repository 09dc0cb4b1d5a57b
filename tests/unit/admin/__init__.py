"""Unit tests of `kgtui.admin` with `FakePool`, in which Python functions respond instead of brokers."""
