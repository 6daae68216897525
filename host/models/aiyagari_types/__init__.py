"""Aiyagari's economy with households of several kinds: their market, and what each kind holds."""
