"""Economies from any household: prices that clear markets, paths after shocks, and responses to small ones."""
