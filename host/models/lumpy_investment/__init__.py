"""Investment with a fixed cost of adjustment: model, (S,s) bands, hazard and moments of the long run."""
