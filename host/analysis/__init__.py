"""Economic analysis of solutions: simulation, moments, impulse responses, Euler equation errors, inequality."""
