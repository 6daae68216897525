"""The figures of a result, by kind: the method ``Result.plot``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from beltline.host.plots import discrete_plot, regions
from beltline.host.plots.figures import KINDS, check_kind, check_plot, drawn
from beltline.host.problem.discrete import DiscreteProblem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from beltline.host.results.result import Result


def plot(result: Result, path: str | os.PathLike[str] | None = None, kind: str | None = None) -> Figure:
    """Draw a figure of ``result``, and write it to ``path`` if there is one; the method ``Result.plot`` calls this.

    Parameters
    ----------
    result
        The result.
    path
        File to write the figure to.
    kind
        - ``"policy"``, the default: value and policy by ``x``, one line for each exogenous state; with a horizon those
          of the first age. The policy is drawn as saving ``x' - x``, because ``x'`` would be close to the 45-degree
          line. With alternatives, regimes or costs each regime is drawn, and the background shows the alternative that
          is taken in the middle exogenous state. Of a discrete problem value and best action by state.
        - ``"regions"``, the default with alternatives: where each is taken, one panel for each regime.
        - ``"consumption"``: consumption by cash on hand, or by ``x`` with alternatives or costs.
        - ``"euler"``: Euler equation errors (:func:`beltline.euler_errors`) at every grid point, one colour for each
          state; with a horizon those of the first age.
        - ``"distribution"``: density of the stationary distribution of ``x``
          (:func:`beltline.stationary_distribution`), in total and by state.
        - ``"irf"``: :func:`beltline.impulse_response` with its default arguments, in percent of the baseline.
        - ``"ages"``: with a horizon, value and choice by ``x`` for up to ten ages, in the middle exogenous state.
        - ``"life"``: with a horizon, mean and percentiles 10 and 90 by age of the lives of :func:`beltline.life_paths`.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, ``result`` has no figure ``kind``, or Matplotlib is not installed.
    """
    if kind is None:
        kind = "policy" if result.alternative is None else "regions"
    check_kind(kind)
    if isinstance(result.problem, DiscreteProblem):
        check_kind(kind, ("policy",))
        return drawn(lambda figure: discrete_plot.policy(result, figure), path)
    check_plot(path)
    if result.problem.general and kind in ("policy", "regions"):
        draw = regions.policy if kind == "policy" else regions.regions
        return drawn(lambda figure: draw(result, figure), path, regions.size_of(result, kind))
    return drawn(KINDS[kind](result), path)
