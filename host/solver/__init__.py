"""From a problem to a verified result: fixed-point images, driver, sessions, reference solvers, verification."""
