"""Models of the general form on devices of the accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.devices.made import general_options
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.solve_general import check_device


def placed(
    called: str,
    device: Any,
    points: int,
    states: int,
    options: Mapping[str, Any],
    *,
    bounds: bool = False,
    taste: bool = False,
) -> tuple[Any, dict[str, Any], bool]:
    """Return the device that solves a model with alternatives, its options, and whether it is of the accelerator.

    ``"emulator"`` and ``"rtl"`` are built for alternatives unless the user names the lanes of a build.

    Parameters
    ----------
    called
        What messages call the model.
    device
        What the user passed as ``device``.
    points
        Grid points of the model.
    states
        Number of states of the machine that the model needs: distinct alternatives times exogenous states.
    options
        Options of the user.
    bounds
        Whether the model has bounds of ``x'`` that depend on ``x``.
    taste
        Whether the model has taste shocks.

    Raises
    ------
    ProblemError
        There is no such device.
    """
    if isinstance(device, str):
        if device == UNNAMED or device in REFERENCES:
            return check_device(called, device), dict(options), False
        if DEVICES[known(device)].elastic:
            return device, general_options(points, states, options, bounds, taste), True
    return device, dict(options), True
