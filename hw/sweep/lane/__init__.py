"""A lane of the sweep engine: its part of every table, and the passes of a sweep over it."""
