"""The assembly line: Peri's pipelined search, whole or folded."""
