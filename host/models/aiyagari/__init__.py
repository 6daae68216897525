"""Aiyagari's economy: model, market, distribution and result."""
