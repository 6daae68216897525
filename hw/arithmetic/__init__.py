"""Number formats, and arithmetic units with their bit-exact models."""
