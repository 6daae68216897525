"""Batches of many problems: worker processes, warm starts and stored results."""
