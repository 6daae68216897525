// Common code of all kernels; `gpu_ref/cuda/kernels.py` puts this file before each of the others.
// Macro: ETA, the curvature of utility: 2 or 1; 4 for linear utility; 0 for any other; 3 for a batch with different ones.

struct Problem {
    const double *X, *W, *Q;
    double *V0;
    double *value, *previous;  // previous may be null
    int *policy;
    double *outcome;  // sweeps, measure of the stopping rule, 1 if below epsilon, 1 if single peaks are in doubt; the
                      // four entries of `extremes.cu`; passes of policy evaluation among the sweeps, and exact ones
    double beta, eta, epsilon;
};

typedef unsigned long long u64;

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

__device__ __noinline__ double power_utility(double c, double eta) { return pow(c, 1.0 - eta) / (1.0 - eta); }

__device__ __forceinline__ double utility(double c, double eta) {
#if ETA == 2
    return -__drcp_rn(c);
#elif ETA == 1
    return log(c);
#elif ETA == 0
    return power_utility(c, eta);
#elif ETA == 4
    return c;
#else
    if (eta == 2.0) return -__drcp_rn(c);
    if (eta == 1.0) return log(c);
    return power_utility(c, eta);
#endif
}

__device__ __forceinline__ double largest_of_warp(double v) {
#pragma unroll
    for (int lane = 16; lane; lane /= 2) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, lane));
    return v;
}

// Whether choice i + 1 is affordable and better than choice i. `future` points at the expectation of choice 0.
__device__ __forceinline__ bool rises(const double* X, const double* future, double wealth, double eta, int i) {
    const double x = __ldg(X + i + 1);
    if (!(x < wealth)) return false;
    return utility(wealth - x, eta) + future[i + 1] > utility(wealth - __ldg(X + i), eta) + future[i];
}

// Bound on the relative error of a utility: as power_error() of gpu_ref/utility.py, with more roundings of the power.
__device__ __forceinline__ double power_error(double eta) {
    return 1.1102230246251565e-16 * (fabs(1.0 - eta) + 8.0) + 750.0 * fabs((1.0 - (1.0 - eta)) - eta);
}

// Whether the objective may have more than one peak around choice i. For a single peak its slope must fall from one grid
// interval to the next at every wealth; utility is least curved at the largest wealth, so that one is tested. The margin
// exceeds the rounding of the objectives that are compared. `future` points at the expectation of choice 0, `richest` at
// the largest wealth, which can afford the most choices.
__device__ __forceinline__ bool doubtful(
    const double* X, const double* future, const double* richest, double eta, int points, int i) {
    if (!(fabs(future[i]) < INFINITE)) return true;
    if (i == 0 || i == points - 1) return false;
    const double before_x = X[i - 1], at_x = X[i], after_x = X[i + 1], wealth = *richest;
    if (!(after_x < wealth)) return false;
    const double step = at_x - before_x, next = after_x - at_x;
    const double c = wealth - before_x;
    const double bend = eta == 2.0 ? 2.0 / (c * c * c) : eta * pow(c, -eta - 1.0);
    const double fall = bend * (step + next) / 2;
    const double rise = (future[i + 1] - future[i]) / next - (future[i] - future[i - 1]) / step;
    const double size = fabs(future[i]) + (fabs(1.0 - eta) + 8.0) * (fabs(utility(c, eta)) + (eta == 1.0));
    const double noise = 8.881784197001252e-16 * size * (1.0 / step + 1.0 / next);
    return !(rise + noise < fall);
}

// The best choice from low to high, the lowest of equals, and its objective; -1 if all objectives are minus infinity. The
// `lanes` of a warp that share the candidates, 32 or 1, call it together, all with the same range. `future` points at the
// expectation of choice 0.
__device__ __forceinline__ int best_between(const double* X, const double* future, double wealth, double eta, int low,
                                            int high, int lane, int lanes, double* best) {
    if (high >= 0 && !(__ldg(X + high) < wealth)) {  // Find the lowest choice that is not affordable.
        int least = low;
        while (least < high) {
            const int middle = (least + high) / 2;
            if (__ldg(X + middle) < wealth)
                least = middle + 1;
            else
                high = middle;
        }
        high--;
    }
    int index = -1;
    *best = -INFINITE;
    for (int i = low + lane; i <= high; i += lanes) {
        const double objective = utility(wealth - __ldg(X + i), eta) + future[i];
        if (objective > *best) {
            *best = objective;
            index = i;
        }
    }
    for (int other = lanes / 2; other; other /= 2) {
        const double theirs = __shfl_xor_sync(0xffffffffu, *best, other);
        const int place = __shfl_xor_sync(0xffffffffu, index, other);
        if (theirs > *best || (theirs == *best && place >= 0 && place < index)) {
            *best = theirs;
            index = place;
        }
    }
    return index;
}

// Barrier of a team of blocks. Two words are used in turn: a block cannot reach a word again before every block has left
// it, because all of them pass the other word in between. The low half of a word counts arrivals, the high half votes.
struct Team {
    u64* words;
    unsigned blocks, met;
    unsigned votes[2];
};

__device__ __forceinline__ bool arrive(Team& team, bool vote) {
    const int any = __syncthreads_or(vote);
    if (team.blocks > 1 && threadIdx.x == 0) {
        u64* const word = team.words + 16 * (team.met & 1);
        const u64 one = 1 + ((u64)(any != 0) << 32);
        asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(one) : "memory");
    }
    return any;
}

// Wait for the other blocks; returns whether any block voted. `any` is what `arrive` returned. Between the two calls a
// thread may do work for which no other thread waits.
__device__ __forceinline__ bool wait(Team& team, bool any) {
    if (team.blocks > 1) {
        const unsigned turn = team.met & 1;
        int other = 0;
        if (threadIdx.x == 0) {
            u64* const word = team.words + 16 * turn;
            const unsigned wanted = (team.met / 2 + 1) * team.blocks;
            u64 now;
            do {
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(word) : "memory");
            } while ((unsigned)now != wanted);
            const unsigned votes = (unsigned)(now >> 32);
            other = votes != (turn ? team.votes[1] : team.votes[0]);
            if (turn)
                team.votes[1] = votes;
            else
                team.votes[0] = votes;
        }
        any = __syncthreads_or(other);
    }
    team.met++;
    return any;
}

__device__ __forceinline__ bool meet(Team& team, bool vote) { return wait(team, arrive(team, vote)); }
