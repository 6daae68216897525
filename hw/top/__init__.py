"""Whole machines, and the Verilog of a build."""
