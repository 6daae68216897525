"""Programs that measure: benches, and the tables of the documentation."""
