"""Krusell and Smith's economy in double precision: Euler-equation iteration, and a simulated panel."""
