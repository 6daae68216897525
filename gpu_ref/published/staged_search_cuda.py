"""The staged search on a CUDA device, with a loop on the host as in the published program: two launches for each sweep.

Operations and their order are those of :mod:`beltline.gpu_ref.published.staged_search`, so for ``eta = 2`` the bits are
the same.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.cuda.device import Clock, cupy_module, ready
from beltline.gpu_ref.methods import Solution, check_limits, error_bound
from beltline.gpu_ref.published.staged_search import Rule, check_rule
from beltline.gpu_ref.tables import check_tables

SOURCE = r"""
#define NOTHING __longlong_as_double(0xfff0000000000000LL)

__device__ double objective(const double* X, const double* future, double wealth, double eta, int i) {
    const double c = wealth - X[i];
    if (!(X[i] < wealth)) return NOTHING;
    return (eta == 2.0 ? -1.0 / c : eta == 1.0 ? log(c) : pow(c, 1.0 - eta) / (1.0 - eta)) + future[i];
}

extern "C" __global__ void expectation(const double* Q, const double* V, double beta, int points, int states,
                                       double* ev) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)points * states) return;
    const int s = i / points, x = i % points;
    double total = 0.0;
    for (int t = 0; t < states; t++)
        if (Q[s * states + t] != 0.0) total += Q[s * states + t] * V[(long long)x * states + t];
    ev[i] = beta * total;
}

extern "C" __global__ void search(const double* X, const double* W, const double* ev, double eta, int points,
                                  int states, int published, double* value, int* policy) {
    const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (t >= (long long)points * states) return;
    const double wealth = W[t];
    const double* const future = ev + t % states * points;
    int h = 0;
    for (int step = points / 4; step > 1; step /= 2) {
        const double one = objective(X, future, wealth, eta, step * (h + 1));
        const double two = objective(X, future, wealth, eta, step * (h + 2));
        const double three = objective(X, future, wealth, eta, step * (h + 3));
        const double most = fmax(fmax(one, two), three);
        int j;
        if (most == NOTHING)
            j = published ? 2 : 0;
        else if (two == most)
            j = one == most && three != most ? 1 : three == most && one != most ? 3 : 2;
        else
            j = one == most ? 0 : 4;
        h = 2 * h + j;
    }
    double best = NOTHING;
    int index = -1;
    for (int i = h; i < h + 4; i++) {
        const double found = objective(X, future, wealth, eta, i);
        if (found > best) {
            best = found;
            index = i;
        }
    }
    value[t] = best;
    policy[t] = index;
}
"""


@functools.cache
def _kernels(device: int) -> tuple[Any, Any]:
    """Return both kernels. No fused multiply-add, so that sums round as they do on processors."""
    module = cupy_module().RawModule(code=SOURCE, options=("-std=c++17", "-fmad=false"))
    return module.get_function("expectation"), module.get_function("search")


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    rule: Rule = "corrected",
) -> Solution:
    """Solve by the staged search on the current CUDA device.

    Arguments, result and errors as for :func:`beltline.gpu_ref.published.staged_search.solve`; also raises
    ``RuntimeError`` if no device can be used.
    """
    check_limits(epsilon, max_sweeps)
    X, W, Q, V0 = check_tables(X, W, Q, V0, beta, eta)
    check_rule(X.size, rule)
    cupy = ready()
    expectation, search = _kernels(cupy.cuda.Device().id)
    clock = Clock(cupy)
    clock.restart()
    x, w, q, value = map(cupy.asarray, (X, W, Q, V0))
    new, ev, policy = cupy.empty_like(value), cupy.empty(W.shape[::-1]), cupy.empty(W.shape, np.int32)
    clock.lap("load")
    launch, sizes = ((-(-W.size // 256),), (256,)), (np.int32(X.size), np.int32(Q.shape[0]))
    sweeps = 0
    while True:
        expectation(*launch, (q, value, np.float64(beta), *sizes, ev))
        search(*launch, (x, w, ev, np.float64(eta), *sizes, np.int32(rule == "published"), new, policy))
        # A value that stays -inf counts as unchanged.
        residual = float(cupy.where(new == value, 0.0, cupy.abs(new - value)).max())
        value, new = new, value
        sweeps += 1
        if residual < epsilon or sweeps >= max_sweeps:
            break
    clock.lap("solve")
    found, chosen, before = value.get(), policy.get(), new.get()
    clock.lap("read")
    bound = error_bound(residual, found, Q, beta, eta)
    return Solution(found, chosen, sweeps, sweeps, residual, bound, residual < epsilon, clock.seconds, previous=before)
