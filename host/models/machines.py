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

    ``"emulator"`` and ``"rtl"`` are built for alternatives unless the user names the lanes of a build. Messages call
    the model ``called``; it needs ``states`` of the machine, distinct alternatives times exogenous states.
    """
    if isinstance(device, str):
        if device == UNNAMED or device in REFERENCES:
            return check_device(called, device), dict(options), False
        if DEVICES[known(device)].elastic:
            return device, general_options(points, states, options, bounds, taste), True
    return device, dict(options), True
