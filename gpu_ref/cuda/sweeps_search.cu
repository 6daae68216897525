// Searches for the choice of one state, for `sweeps.cu`, which defines the macros. Compiled after `common.cu`.

#define WARM 0        // local search from the last policy; utilities of it and its neighbours are cached
#define PLAIN 1       // the same without a cache
#define GRID 2        // full search
#define CORRECTED 3   // staged search, three candidates per stage
#define PUBLISHED 4   // the same with the published rule for ties
#define COARSE 5      // full search of a few fixed choices, with interpolated expectations

#define LOCAL (SEARCH == WARM || SEARCH == PLAIN)
#define STAGED (SEARCH == CORRECTED || SEARCH == PUBLISHED)
#define WARPS (THREADS / 32)

// Loops are unrolled if the arrays of a thread may fit into its registers.
constexpr int unrolled_points = POINTS * NZ <= 16 ? POINTS : 1;
constexpr int unrolled_states = NZ <= 16 ? NZ : 1;

// Utility of choice i; -inf if there is no such choice or it is not affordable.
__device__ __forceinline__ double utility_of(const double* X, int points, double wealth, double eta, int i) {
    if (i < 0 || i >= points) return -INFINITE;
    const double x = __ldg(X + i);
    return x < wealth ? utility(wealth - x, eta) : -INFINITE;
}

// Lowest maximiser of a single-peaked objective near a guess: the step away from it doubles, then bisection follows.
__device__ __noinline__ int seek(const double* X, const double* future, int points, double wealth, double eta, int p) {
    int low, high;
    if (p + 1 < points && rises(X, future, wealth, eta, p)) {
        low = p + 1;
        for (int step = 1;; step *= 2) {
            const int i = low + step - 1;
            if (i >= points - 1) {
                high = points - 1;
                break;
            }
            if (!rises(X, future, wealth, eta, i)) {
                high = i;
                break;
            }
            low = i + 1;
        }
    } else {
        high = p;
        for (int step = 1;; step *= 2) {
            const int i = high - step;
            if (i < 0) {
                low = 0;
                break;
            }
            if (rises(X, future, wealth, eta, i)) {
                low = i + 1;
                break;
            }
            high = i;
        }
    }
    while (low < high) {
        const int middle = (low + high) / 2;
        if (rises(X, future, wealth, eta, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ __forceinline__ int affordable(const double* X, int points, double wealth) {
    int low = 0, high = points;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (X[middle] < wealth)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ __forceinline__ void search_all(
    const double* X, const double* future, int points, double wealth, double eta, double& best, int& index) {
    const int n = affordable(X, points, wealth);
    best = -INFINITE;
    index = -1;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        const double objective = utility(wealth - X[i], eta) + future[i];
        if (objective > best) {
            best = objective;
            index = i;
        }
    }
}

__device__ __forceinline__ double objective_of(const double* X, const double* future, double wealth, double eta, int i) {
    const double x = X[i];
    return x < wealth ? utility(wealth - x, eta) + future[i] : -INFINITE;
}

__device__ __forceinline__ void search_staged(
    const double* X, const double* future, int points, double wealth, double eta, double& best, int& index) {
    int h = 0;
    for (int step = points / 4; step > 1; step /= 2) {
        const double one = objective_of(X, future, wealth, eta, step * (h + 1));
        const double two = objective_of(X, future, wealth, eta, step * (h + 2));
        const double three = objective_of(X, future, wealth, eta, step * (h + 3));
        const double most = fmax(fmax(one, two), three);
        int j;
        if (most == -INFINITE)
            j = SEARCH == PUBLISHED ? 2 : 0;
        else if (two == most)
            j = one == most && three != most ? 1 : three == most && one != most ? 3 : 2;
        else
            j = one == most ? 0 : 4;
        h = 2 * h + j;
    }
    best = -INFINITE;
    index = -1;
    for (int i = h; i < h + 4; i++) {
        const double objective = objective_of(X, future, wealth, eta, i);
        if (objective > best) {
            best = objective;
            index = i;
        }
    }
}
