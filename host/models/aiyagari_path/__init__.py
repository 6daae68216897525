"""Aiyagari's economy after an unexpected shock: steady states, prices by date, distributions by date, and result."""
