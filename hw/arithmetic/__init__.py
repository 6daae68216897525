"""Number formats and arithmetic units, each with its bit-exact model."""
