"""Single faults, each of which a test of the default suite should find: ``python -m tests.mutants``."""
