"""The documentation, and the programs that print its tables."""
