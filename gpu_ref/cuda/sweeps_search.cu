// Local search for the choice of one state, for `sweeps.cu`, which defines the macros. Compiled after `common.cu`.

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
