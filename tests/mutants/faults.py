"""Every fault."""

from __future__ import annotations

from . import arithmetic, engines, host, solvers

FAULTS = (*arithmetic.FAULTS, *engines.FAULTS, *solvers.FAULTS, *host.FAULTS)
