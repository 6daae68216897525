"""What is fixed when a machine is built, and what its host sees: parameters, registers, table windows, builds."""
