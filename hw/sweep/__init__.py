"""The sweep engine: many lanes, each with its own part of the grid (``docs/sweep-engine.md``)."""
