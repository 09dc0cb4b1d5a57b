"""Read, transform, write: one module a layer."""
