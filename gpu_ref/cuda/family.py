"""Solve problems whose tables were made on the device, and prove their solutions there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.cuda.device import cupy_module
from beltline.gpu_ref.cuda.kernels import check_states
from beltline.gpu_ref.cuda.sweeps import Group, largest_before_shift, prepare
from beltline.gpu_ref.methods import Arguments
from beltline.gpu_ref.tables import Array


class Family(NamedTuple):
    """Solutions of problems of one shape, each array with the problem as its first index.

    Attributes
    ----------
    value, policy
        ``(problems, N_k, N_z)``, ``float64`` and ``int32``.
    sweeps, converged
        ``(problems,)``: sweeps and passes of policy evaluation, and whether the stopping rule was met.
    residual, rounding
        ``(problems,)``, units of utility: distance of the value from an exact sweep, and a bound on the rounding errors
        of this sweep; infinite where the solution could not be proven.
    """

    value: Array
    policy: NDArray[np.int32]
    sweeps: NDArray[np.int64]
    converged: NDArray[np.bool_]
    residual: Array
    rounding: Array


def solve_family(
    X: Any, W: Any, Q: Any, beta: Array, eta: Array, epsilon: float, max_sweeps: int, moduli: Array
) -> Family:
    """Solve problems whose tables were made on the current device, and prove their solutions there.

    Parameters
    ----------
    X, W
        ``(problems, N_k)`` and ``(problems, N_k, N_z)``, arrays of the device.
    Q, beta, eta
        ``(problems, N_z, N_z)`` and ``(problems,)``, arrays of the host.
    epsilon, max_sweeps
        As in :func:`beltline.gpu_ref.cuda.solver.solve`, for method ``shift``.
    moduli
        Contraction moduli of the problems.

    Raises
    ------
    MemoryError
        The problems do not fit into the memory of the device.
    """
    cupy = cupy_module()
    check_states(W.shape[2])
    like, start = np.broadcast_to(0.0, W.shape[1:]), np.zeros(W.shape[1:])
    numbers = zip(Q, beta.tolist(), eta.tolist(), strict=True)
    # It is not known whether all states can stay; the device finds out.
    problems = [
        Arguments(like[:, 0], like, q, start, b, e, epsilon, max_sweeps, "shift", {"start": "coarse"}, "coarse", False)
        for q, b, e in numbers
    ]
    launch = prepare(cupy, problems, None)
    group = Group(cupy, problems, launch, False, moduli.tolist(), made={"X": X, "W": W})
    try:
        group.load()
        group.launch()
        group.compare()
        value, policy, outcomes, residual, rounding = group.arrays()
    except BaseException:
        group.wait()
        raise
    # Values that were much larger before the shift were rounded too much.
    sound = (outcomes[:, 3] == 0.0) & (largest_before_shift(moduli.tolist(), outcomes) <= 8.0 * outcomes[:, 6])
    residual[~sound] = np.inf
    return Family(value, policy, outcomes[:, 0].astype(np.int64), outcomes[:, 2] != 0.0, residual, rounding)
