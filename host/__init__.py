"""What a user calls: problems, models, the solver, results, plots and the command line."""

__version__ = "0.1.0"
