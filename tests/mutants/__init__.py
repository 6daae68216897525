"""Single faults, each of which a test of the default suite must find: ``python -m tests.mutants``."""
