"""The second pass of a sweep, a lane at a time: walkers in a ring around one evaluator."""
