"""The list of all faults."""

from __future__ import annotations

from . import (
    ages,
    alternatives,
    arithmetic,
    bounds,
    costs,
    discrete,
    engines,
    general,
    host,
    models,
    prices,
    proofs,
    solvers,
)

FAULTS = (
    *arithmetic.FAULTS,
    *engines.FAULTS,
    *proofs.FAULTS,
    *costs.FAULTS,
    *alternatives.FAULTS,
    *bounds.FAULTS,
    *ages.FAULTS,
    *prices.FAULTS,
    *solvers.FAULTS,
    *general.FAULTS,
    *discrete.FAULTS,
    *host.FAULTS,
    *models.FAULTS,
)
