"""The sequencer of a run, and the registers."""
