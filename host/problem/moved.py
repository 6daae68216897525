"""A problem of the general form with other tables, such as those at which prices came to rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.host.problem.alternative import TABLES, Alternative
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem

if TYPE_CHECKING:
    from beltline.gpu_ref.general.form import Form


def with_form(problem: Problem, form: Form) -> Problem:
    """Return the problem with the tables of ``form`` in place of those of its own that differ.

    Parameters
    ----------
    problem
        Of the general form.
    form
        The same problem with other tables (:meth:`beltline.gpu_ref.general.form.Form.with_tables`).

    Returns
    -------
    Problem
        ``problem`` itself if no table differs, or if the tables of ``form`` leave a state without a choice, which a
        problem may not have.
    """
    changes = [_changes(was, now) for was, now in zip(problem.form.alternatives, form.alternatives, strict=True)]
    if not any(changes):
        return problem
    try:
        if not problem.alternatives:
            return replace(problem, **changes[0])
        pairs = zip(problem.alternatives, changes, strict=True)
        return replace(problem, alternatives=tuple(_changed(one, new, problem.regimes) for one, new in pairs))
    except ProblemError:
        return problem


def _changes(was: Any, now: Any) -> dict[str, Any]:
    """Return the tables of an alternative of a form that differ from what they were."""
    names = (name for name in (*TABLES, "kappa", "mix", "value") if hasattr(was, name))
    return {name: getattr(now, name) for name in names if not np.array_equal(getattr(was, name), getattr(now, name))}


def _changed(one: Alternative, new: dict[str, Any], regimes: tuple[str, ...]) -> Alternative:
    """Return an alternative with new tables, with ``mix`` as the regimes to which it leads."""
    if "mix" in new:
        new = {**new, "leads_to": dict(zip(regimes, new["mix"].tolist(), strict=True))}
        del new["mix"]
    if {"low", "high"} & new.keys() and one.choice is not None:
        new = {"low": one.choice, "high": one.choice, "choice": None, **new}
    return replace(one, **new) if new else one
