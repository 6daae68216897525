"""Sovereign default after Arellano: model, prices of debt, result and moments of simulated quarters."""
