"""Gateware of Beltline: parameters, bit-exact models and Amaranth components of every unit."""
