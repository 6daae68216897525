"""Synchronous RAM, delay lines and first-in first-out queues."""
