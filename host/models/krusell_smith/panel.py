"""Where panels of households are simulated, and how well they are interpolated."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from beltline.gpu_ref.krusell_smith import panel, shocks
from beltline.host.devices import DeviceError
from beltline.host.models.krusell_smith.result import Equilibrium
from beltline.host.problem.checks import ProblemError, shown


def check_panel(name: str) -> None:
    """Check that panels can be simulated on ``name``.

    Raises
    ------
    DeviceError
        They cannot, and why.
    """
    if name == "gpu" and (missing := importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").available()):
        raise DeviceError(f"panel 'gpu' cannot be used here: {missing}")


def simulator(name: str, drawn: shocks.Shocks) -> Callable[..., panel.Panel]:
    """Return what simulates on ``name`` with these shocks; on a device they are loaded once."""
    if name == "cpu":
        return lambda policy, grid, means, start, method, tell: panel.simulate(
            policy, grid, means, drawn, start, method, tell
        )
    run: Callable[..., panel.Panel] = (
        importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").Simulator(drawn).simulate
    )
    return run


def panel_errors(result: Equilibrium) -> dict[str, float]:
    """Return the error of each interpolation on the path of ``K``, in per cent.

    Each simulates the panel of ``result`` again on this computer, with its policy, shocks and start. The error is the
    largest gap from the path by Catmull-Rom interpolation in double precision (Hatcher and Scheffel 2016).
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
