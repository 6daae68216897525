"""Control of the machine: register file, sequencer of a run, check sums of tables, and what all engines share."""
