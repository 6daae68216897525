"""Models of the general form on devices of the accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.devices.made import general_options
from beltline.host.solver.options import UNNAMED


def on_machine(
    device: Any, points: int, states: int, options: Mapping[str, Any], bounds: bool = False
) -> dict[str, Any] | None:
    """Return the options with which a device of the accelerator solves a model with alternatives.

    The result is None if ``device`` is not one of the accelerator. ``"emulator"`` and ``"rtl"`` are built for
    alternatives unless the user names the lanes of a build.

    Parameters
    ----------
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

    Raises
    ------
    ProblemError
        There is no such device.
    """
    if not isinstance(device, str):
        return dict(options)
    if device == UNNAMED or device in REFERENCES:
        return None
    name = known(device)
    return general_options(points, states, options, bounds) if DEVICES[name].elastic else dict(options)
