"""Simulation of the gateware: simulated boards, and cocotb benches."""
