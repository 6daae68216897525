"""Boards: the machine for each, how its bitstream is built, and its area and speed."""
