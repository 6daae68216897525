"""Krusell and Smith's economy: model, household, algorithm and result."""
