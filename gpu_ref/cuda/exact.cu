// Parts of an exact sweep by divide and conquer, and of policy evaluation sweeps; one launch each. `gpu_ref/exact.py` has
// the proof of the search. Compiled by `gpu_ref/cuda/kernels.py` after `common.cu`, with -fmad=false, so that sums round
// as they do there.

// EV(s, x) = beta sum_t Q(s, t) V(x, t); one thread per pair (x, s).
extern "C" __global__ void expectation(const double* Q, const double* V, double beta, int points, int states, double* ev) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)points * states) return;
    const int s = (int)(i / points), x = (int)(i % points);
    double total = 0.0;
    for (int t = 0; t < states; t++) {
        const double chance = Q[s * states + t];
        if (chance != 0.0) total += chance * V[(long long)x * states + t];
    }
    ev[i] = beta * total;
}

// One level of divide and conquer; one warp per row and exogenous state. With rows numbered from 1, the level has the odd
// multiples of `step`; each is searched between the choices of the rows at that distance. The lanes of a warp share the
// candidates; the lowest maximiser wins.
extern "C" __global__ void level(const double* X, const double* W, const double* ev, double eta, int points, int states,
                                 int step, double* value, int* policy) {
    const long long warp = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    const long long rows = (points / step + 1) / 2;
    if (warp >= rows * states) return;
    const long long row = (2 * (warp / states) + 1) * step - 1;
    const int s = (int)(warp % states);
    const int low = row >= step ? max(policy[(row - step) * states + s], 0) : 0;
    const int high = row + step < points ? policy[(row + step) * states + s] : points - 1;
    const double* const future = ev + (long long)s * points;
    double best;
    const int index = best_between(X, future, W[row * states + s], eta, low, high, lane, 32, &best);
    if (lane == 0) {
        value[row * states + s] = best;
        policy[row * states + s] = index;
    }
}

// One policy evaluation sweep; one thread per state.
extern "C" __global__ void evaluate(const double* X, const double* W, const double* ev, const int* policy, double eta,
                                    int points, int states, double* value) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= (long long)points * states) return;
    const int s = (int)(i % states), p = policy[i];
    value[i] = p < 0 ? -INFINITE : utility(W[i] - X[p], eta) + ev[(long long)s * points + p];
}
