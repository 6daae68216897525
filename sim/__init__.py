"""Simulation of the gateware: the simulated board, and cocotb benches."""
