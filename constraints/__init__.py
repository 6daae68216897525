"""Boards: what is built for each, and how."""
