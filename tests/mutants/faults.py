"""Every fault."""

from __future__ import annotations

from . import arithmetic, engines, general, host, solvers

FAULTS = (*arithmetic.FAULTS, *engines.FAULTS, *solvers.FAULTS, *general.FAULTS, *host.FAULTS)
