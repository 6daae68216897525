"""A lane of the sweep engine: its share of every table, and the units that make the passes of a sweep over it."""
