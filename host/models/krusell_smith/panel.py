"""Choice of the simulator of a panel, and errors of its interpolation."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from beltline.gpu_ref.krusell_smith import panel, shocks
from beltline.host.devices import DeviceError
from beltline.host.models.krusell_smith.result import Equilibrium
from beltline.host.problem.checks import ProblemError, shown


def check_panel(name: str) -> None:
    """Check that panels can be simulated on ``name``, ``"cpu"`` or ``"gpu"``."""
    if name == "gpu" and (missing := importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").available()):
        raise DeviceError(f"panel 'gpu' cannot be used here: {missing}")


def simulator(name: str, drawn: shocks.Shocks) -> Callable[..., panel.Panel]:
    """Return a function that simulates on ``name`` with these shocks; on a GPU they are loaded once."""
    if name == "cpu":
        return lambda policy, grid, means, start, method, report: panel.simulate(
            policy, grid, means, drawn, start, method, report
        )
    run: Callable[..., panel.Panel] = (
        importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").Simulator(drawn).simulate
    )
    return run


def panel_errors(result: Equilibrium) -> dict[str, float]:
    """Compute the error that each interpolation of the policy causes in the path of mean capital, in percent.

    The panel of ``result`` is simulated again on the processor with each interpolation, with the same policy, shocks
    and start. The error is the largest relative distance from the path with Catmull-Rom interpolation in double
    precision (Hatcher and Scheffel 2016).

    Parameters
    ----------
    result : Equilibrium
        A solution of :func:`beltline.krusell_smith`.

    Returns
    -------
    dict of str to float
        Error in percent by name of the interpolation.

    Raises
    ------
    ProblemError
        ``result`` is not an :class:`~beltline.Equilibrium`.

    Examples
    --------
    >>> bl.panel_errors(bl.load("economy.npz"))  # doctest: +SKIP
    {'bicubic': 0.0, 'linear': 0.0132, ...}
    """
    if not isinstance(result, Equilibrium):
        raise ProblemError(f"result must be an Equilibrium, not {shown(result)}")
    drawn = result.shocks
    paths = {
        name: panel.simulate(
            result.policy, result.grid, result.economy.mean_grid, drawn, result.start.astype(np.float64), name
        ).capital
        for name in panel.INTERPOLATIONS
    }
    return {name: panel.path_error(path, paths["bicubic"]) for name, path in paths.items()}
