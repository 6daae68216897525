"""Prices of bonds, which a lane computes between two sweeps from where they are paid."""
