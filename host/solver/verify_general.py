"""Verification of results of the general form by a search that shares no code with the solver's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.general import start_of
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Tables
from beltline.host.solver.verify import Verification

if TYPE_CHECKING:
    from beltline.gpu_ref.general.certificate import Answer, Miss
    from beltline.gpu_ref.general.form import Form


def measured(
    problem: Problem, form: Form, answer: Answer, change: float, coarse: NDArray[np.float64] | None = None
) -> Verification:
    """Measure a result and prove its choices by :func:`beltline.gpu_ref.general.certificate.certify`.

    Parameters
    ----------
    problem
        The problem; its horizon and ``start`` are used.
    form
        Tables of the problem. If prices depend on the solution, the tables at the prices for which the result is
        measured.
    answer
        The result or solution to verify; its values must be finite.
    change
        Change of the value in the last sweep, in units of utility; ignored with a horizon.
    coarse
        Rounding errors of a machine, as in :func:`beltline.gpu_ref.general.certificate.certify`; none by default.
    """
    from beltline.gpu_ref.general.certificate import certify

    found = certify(form, answer, change, start_of(problem), coarse)
    if found.miss is not None:
        missed = _sentence(problem, form, found.miss, found.missed)
        return Verification(found.residual, found.error_bound, True, missed)
    return Verification(found.residual, found.error_bound, True, "", found.policy, found.choice)


def best_of(problem: Problem, quality: Verification, tables: Tables) -> Tables:
    """Return ``tables`` with the best choices and alternatives at their value, as verification found them."""
    if quality.policy is None or quality.choice is None:
        return tables
    tables = tables._replace(policy=quality.policy, choice=quality.choice)
    if problem.taste:
        return tables
    regimes = [problem.regimes.index(one.regime) for one in problem.alternatives] or [0]
    taken = np.stack([quality.choice[..., r, :, :] == d for d, r in enumerate(regimes)], axis=-3)
    return tables._replace(probabilities=taken.astype(np.float64))


def _sentence(problem: Problem, form: Form, miss: Miss, count: int) -> str:
    """Return a sentence for the message about the largest error that the second search found."""
    from beltline.gpu_ref.general.certificate import (
        ALTERNATIVE_CHOICE,
        ALTERNATIVE_VALUE,
        POLICY,
        PROBABILITY,
        REGIME_VALUE,
    )

    name = form.alternatives[miss.alternative].name
    what = {
        ALTERNATIVE_VALUE: f"the value of alternative {name!r} wrong",
        POLICY: f"a choice of alternative {name!r} better",
        REGIME_VALUE: f"the value, which is that of alternative {name!r}, wrong",
        ALTERNATIVE_CHOICE: f"alternative {name!r} better than the one that was chosen",
        PROBABILITY: f"the probability of alternative {name!r} wrong",
    }[miss.kind]
    size = f"by {miss.amount:.3g}" if math.isfinite(miss.amount) else "without bound"
    age = "" if problem.horizon is None else f", age {miss.age + 1}"
    more = "" if count == 1 else f", the largest of {count:,} errors"
    return f"A second, exact search finds {what} {size} at grid point {miss.x}, state {miss.s}{age}{more}."
