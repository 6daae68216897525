"""The sweep engine: lanes that sweep their parts of the grid in parallel. Described in ``docs/sweep-engine.md``."""
