// Simulate periods `begin` to `end` of a panel in one launch. `gpu_ref/krusell_smith/panel.py` describes what is computed;
// `gpu_ref/krusell_smith/cuda_panel.py` compiles this file after `gpu_ref/cuda/grid.cu`.
//
// A block owns `span` agents. In each period it computes the cubics of the period, moves its agents, and stores their sum.
// After a barrier each block adds up K from all sums, in the same order and so with the same bits.
//
// The loads of an agent from shared memory determine the time. So each quantity is an array of its own, in which neighbouring
// intervals, where most agents of a warp are, lie in different banks. A thread moves 16 bytes of agents at once, loads the
// next ones in advance, and treats all its agents without branches.
//
// Macros: SINGLE (1: agents in single precision), CUBIC (1: Catmull-Rom, 0: linear), ONCE (1: an interval is at most one
// beyond the one where its search starts), THREADS of a block, RESIDENT blocks of a multiprocessor, NEAR (1: tables in
// shared memory; 0: in global memory, with the cubics computed by all blocks together).

#if SINGLE
typedef float Real;
#define VECTOR 4
__device__ __forceinline__ int leading(float x, int shift) { return __float_as_int(x) >> shift; }
#else
typedef double Real;
#define VECTOR 2
__device__ __forceinline__ int leading(double x, int shift) { return __double_as_longlong(x) >> shift; }
#endif

struct __align__(16) Agents { Real k[VECTOR]; };

// The tables of one period.
struct Tables {
    const Real *bounds;  // x_i, with infinity in place of the last
    const Real *scales;  // 1 / (x_(i+1) - x_i)
    const Real *cubics;  // coefficient m of interval i and employment e, in (k - x_i) scale_i: [m][e][i]
    const unsigned short *places;
    int intervals, base, shift;
    Real low, high;
};

// Find the four columns around K and their weights. Returns whether K is on its grid.
__device__ bool column(double at, const double *grid, int n, int *first, double *weights) {
    bool inside = grid[0] <= at && at <= grid[n - 1];
    at = fmin(fmax(at, grid[0]), grid[n - 1]);
    int i = 0;
    while (i < n - 2 && grid[i + 1] <= at) i++;
    double h = grid[i + 1] - grid[i], t = (at - grid[i]) / h, v = 1 - t;
    *first = i - 1;
    weights[0] = weights[3] = 0.0;
#if CUBIC
    weights[1] = (1 + 2 * t) * v * v;
    weights[2] = t * t * (3 - 2 * t);
    for (int end = 0; end < 2; end++) {
        double slope = h * (end == 0 ? t * v * v : t * t * (t - 1));
        int low = i + end - 1 > 0 ? i + end - 1 : 0, high = i + end + 1 < n - 1 ? i + end + 1 : n - 1;
        double chord = slope / (grid[high] - grid[low]);
        weights[high - i + 1] += chord;
        weights[low - i + 1] -= chord;
    }
#else
    weights[1] = v;
    weights[2] = t;
#endif
    return inside;
}

// The policy at grid point i and K; `column` points at the first of the four columns.
__device__ __forceinline__ double policy_at(const double *column, const double *weights, int points, int i) {
    double total = 0.0;
    for (int j = 0; j < 4; j++)
        if (weights[j] != 0.0) total += weights[j] * column[(long long)j * points + i];
    return total;
}

// Write the cubic of interval i and one employment status to `out`, with coefficients `stride` apart.
__device__ __forceinline__ void cubic(
    const double *column, const double *weights, const double *grid, int points, int i, Real *out, int stride) {
    double here = policy_at(column, weights, points, i), next = policy_at(column, weights, points, i + 1);
    double rise = next - here;
    out[0] = (Real)here;
#if CUBIC
    int low = i > 0 ? i - 1 : 0, high = i + 2 < points ? i + 2 : points - 1;
    double before = policy_at(column, weights, points, low), after = policy_at(column, weights, points, high);
    double h = grid[i + 1] - grid[i];
    double left = h * (next - before) / (grid[i + 1] - grid[low]);
    double right = h * (after - here) / (grid[high] - grid[i]);
    out[stride] = (Real)left;
    out[2 * stride] = (Real)(3 * rise - 2 * left - right);
    out[3 * stride] = (Real)(left + right - 2 * rise);
#else
    out[stride] = (Real)rise;
#endif
}

// Wealth of the next period, restricted to the grid; `below` and `above` count the restrictions.
__device__ __forceinline__ Real step(const Tables &at, Real x, bool works, unsigned int &below, unsigned int &above) {
    int place = leading(x, at.shift) - at.base;
    int i = at.places[place > 0 ? place : 0];
#if ONCE
    i += at.bounds[i + 1] <= x;
#else
    while (at.bounds[i + 1] <= x) i++;
#endif
    const Real *c = at.cubics + (works ? at.intervals : 0) + i;
    const int stride = 2 * at.intervals;
    Real t = (x - at.bounds[i]) * at.scales[i];
#if CUBIC
    Real y = c[0] + t * (c[stride] + t * (c[2 * stride] + t * c[3 * stride]));
#else
    Real y = c[0] + t * c[stride];
#endif
    const bool under = !(y >= at.low), over = y > at.high;
    below += under;
    above += over;
    return under ? at.low : over ? at.high : y;
}

// policy: (2, 2, columns, points), by aggregate state, employment, K and k. employed: `words` of 32 agents a period.
// sums: two of each block, in turn. counts: below, above, K outside. capital[begin] is K of the first period.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) simulate(
    Real *k, long long agents, int span, const unsigned int *__restrict__ employed, long long words,
    const signed char *__restrict__ aggregate, int begin, int end, const double *__restrict__ policy,
    const double *__restrict__ grid, const double *__restrict__ all_means, int points, int columns,
    const Real *all_bounds, const Real *all_scales, const unsigned short *all_places, int entries, int base, int shift,
    Real *all_cubics, double *sums, double *capital, u64 *counts, unsigned int *arrived) {
    double *part = (double *)SHARED, *weights = part + THREADS;
    const int intervals = points - 1;
#if NEAR
    double *means = weights + 8;
    for (int i = threadIdx.x; i < columns; i += THREADS) means[i] = all_means[i];
    Real *cubics = (Real *)(means + columns), *bounds = cubics + 8 * intervals, *scales = bounds + points;
    unsigned short *places = (unsigned short *)(scales + intervals);
    for (int i = threadIdx.x; i < points; i += THREADS) bounds[i] = all_bounds[i];
    for (int i = threadIdx.x; i < intervals; i += THREADS) scales[i] = all_scales[i];
    for (int i = threadIdx.x; i < entries; i += THREADS) places[i] = all_places[i];
    const int maker = threadIdx.x, makers = THREADS;
    __syncthreads();
#else
    const double *means = all_means;
    Real *cubics = all_cubics;
    const Real *bounds = all_bounds, *scales = all_scales;
    const unsigned short *places = all_places;
    const int maker = blockIdx.x * THREADS + threadIdx.x, makers = gridDim.x * THREADS;
#endif
    const Tables at = {
        bounds, scales, cubics, places, intervals, base, shift, (Real)grid[0], (Real)grid[points - 1]};
    const long long first = (long long)blockIdx.x * span;
    const int count = first + span < agents ? span : (int)(agents - first);
    Real *own = k + first;
    unsigned int below = 0, above = 0, outside = 0, wanted = 0;
    double K = capital[begin];
    for (int t = begin; t < end; t++) {
        if (threadIdx.x == 0) {
            int left;
            outside += !column(K, means, columns, &left, weights);
            weights[4] = left;
        }
        __syncthreads();
        for (int place = maker; place < 2 * intervals; place += makers) {
            int e = place >= intervals, i = place - e * intervals;
            long long left = (2 * aggregate[t] + e) * columns + (int)weights[4];
            cubic(policy + left * points, weights, grid, points, i, cubics + place, 2 * intervals);
        }
#if NEAR
        __syncthreads();
#else
        meet(arrived, wanted);
#endif
        const unsigned int *work = employed + t * words + first / 32;
        double total = 0.0;
        int j = VECTOR * threadIdx.x;
        const int stride = VECTOR * THREADS;
        Agents next;
        if (j + VECTOR <= count) next = *(const Agents *)(own + j);
        for (; j + VECTOR <= count; j += stride) {
            Agents now = next;
            const unsigned int bits = work[j / 32] >> (j % 32);
            if (j + stride + VECTOR <= count) next = *(const Agents *)(own + j + stride);
#pragma unroll
            for (int v = 0; v < VECTOR; v++) now.k[v] = step(at, now.k[v], (bits >> v) & 1, below, above);
            *(Agents *)(own + j) = now;
#pragma unroll
            for (int v = 0; v < VECTOR; v++) total += now.k[v];
        }
        for (; j < count; j++) {
            // The last agents of the panel, fewer than VECTOR: only one thread gets here.
            own[j] = step(at, own[j], (work[j / 32] >> (j % 32)) & 1, below, above);
            total += own[j];
        }
        total = sum_of_block(total, part);
        double *turn = sums + (t & 1) * gridDim.x;
        if (threadIdx.x == 0) turn[blockIdx.x] = total;
        meet(arrived, wanted);
        total = 0.0;
        for (int b = threadIdx.x; b < gridDim.x; b += THREADS) total += turn[b];
        K = sum_of_block(total, part) / agents;
        if (blockIdx.x == 0 && threadIdx.x == 0) capital[t + 1] = K;
    }
    if (below) atomicAdd(&counts[0], (u64)below);
    if (above) atomicAdd(&counts[1], (u64)above);
    if (blockIdx.x == 0 && outside) atomicAdd(&counts[2], (u64)outside);
}
