"""Models of the literature, and what a model is."""
