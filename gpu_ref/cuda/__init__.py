"""Solvers on CUDA devices."""
