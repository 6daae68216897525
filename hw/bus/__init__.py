"""Buses towards the host: AXI4, AXI4-Lite and the serial line."""
