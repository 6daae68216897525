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
    handed,
    host,
    models,
    overlap,
    paths,
    prices,
    proofs,
    solvers,
    taste,
    trust,
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
    *taste.FAULTS,
    *overlap.FAULTS,
    *handed.FAULTS,
    *paths.FAULTS,
    *solvers.FAULTS,
    *general.FAULTS,
    *trust.FAULTS,
    *discrete.FAULTS,
    *host.FAULTS,
    *models.FAULTS,
)
