"""What a solution says as economics: simulation, Euler equation errors, inequality."""
