// Euler-equation iteration of a household whose prices depend on mean wealth, many iterations in one launch.
// `gpu_ref/krusell_smith/euler_iteration.py` describes the method; `gpu_ref/krusell_smith/cuda_euler.py` compiles this file
// after `gpu_ref/cuda/grid.cu`.
//
// A *place* is a point i of the grid of K and an aggregate state a. Expectations there depend only on the policy at
// K'(i, a). A block loads the last policy there into shared memory, as values and slopes of a cubic spline in k, and
// computes the new policy of the place's two employment states from it. Two tables of the policy are used in turn, so there
// is one barrier per iteration. After it each block reads how far the policy moved, and stops if that is below `tol`.
//
// Macros: THREADS of a block, LOG (1: gamma is 1).

#define LEAST 1e-10

// policies: two of (4, columns, points). wealth: (4, columns, points). weights: (columns, 2, columns), of the spline in
// K. matrix: (points, points), what values are multiplied by for slopes, transposed; beyond `band` places from its
// diagonal it is zero. gross: (columns, 2, 2). income: (columns, 2, 4). changes: of each iteration of this launch, zero
// before. done: iterations of this launch.
extern "C" __global__ void __launch_bounds__(THREADS) iterate(
    double *policies, const double *__restrict__ grid, const double *__restrict__ wealth,
    const double *__restrict__ weights, const double *__restrict__ matrix, int band, const double *__restrict__ gross,
    const double *__restrict__ income, const double *__restrict__ chain, double beta, double gamma, double damping,
    double tol, int points, int columns, int begin, int steps, u64 *changes, int *done, unsigned int *arrived) {
    double *x = (double *)SHARED, *value = x + points, *slope = value + 4 * points;
    u64 *part = (u64 *)(slope + 4 * points);
    const int size = 4 * columns * points;
    unsigned int wanted = 0;
    for (int j = threadIdx.x; j < points; j += THREADS) x[j] = grid[j];
    for (int iteration = 0; iteration < steps; iteration++) {
        const double *policy = policies + ((begin + iteration) & 1) * size;
        double *next = policies + ((begin + iteration + 1) & 1) * size;
        u64 most = 0;
        for (int place = blockIdx.x; place < 2 * columns; place += gridDim.x) {
            const int i = place / 2, a = place % 2;
            for (int at = threadIdx.x; at < 4 * points; at += THREADS) {
                const double *row = policy + (at / points) * columns * points + at % points;
                double total = 0.0;
                for (int j = 0; j < columns; j++) total += weights[place * columns + j] * row[j * points];
                value[at] = total;
            }
            __syncthreads();
            for (int at = threadIdx.x; at < 4 * points; at += THREADS) {
                const int j = at % points;
                const double *row = value + at - j;
                const int first = j > band ? j - band : 0, last = j + band < points - 1 ? j + band : points - 1;
                double total = 0.0;
                for (int y = first; y <= last; y++) total += matrix[y * points + j] * row[y];
                slope[at] = total;
            }
            __syncthreads();
            for (int task = threadIdx.x; task < 2 * points; task += THREADS) {
                const int own = 2 * a + task / points;
                const int at = (own * columns + i) * points + task % points;
                const double old = policy[at];
                int low = 0, high = points - 1;
                while (high - low > 1) {
                    const int middle = (low + high) / 2;
                    if (x[middle] <= old)
                        low = middle;
                    else
                        high = middle;
                }
                const double h = x[low + 1] - x[low], t = (old - x[low]) / h, v = 1 - t;
                const double left = (1 + 2 * t) * v * v, right = t * t * (3 - 2 * t);
                const double rise = h * t * v * v, fall = -h * t * t * v;
                double total = 0.0;
                for (int s = 0; s < 4; s++) {
                    const double *value_s = value + s * points + low, *slope_s = slope + s * points + low;
                    double ahead = left * value_s[0] + right * value_s[1] + rise * slope_s[0] + fall * slope_s[1];
                    // fmax drops a NaN here; it shows again in `chosen`, which depends on `old`.
                    ahead = fmin(fmax(ahead, x[0]), x[points - 1]);
                    const double price = gross[2 * place + s / 2];
                    const double c = fmax(price * old + income[4 * place + s] - ahead, LEAST);
#if LOG
                    const double marginal = 1 / c;
#else
                    const double marginal = pow(c, -gamma);
#endif
                    total += chain[4 * own + s] * price * marginal;
                }
                total *= beta;
#if LOG
                const double c = 1 / total;
#else
                const double c = pow(total, -1 / gamma);
#endif
                double chosen = wealth[at] - c;
                chosen = chosen < x[0] ? x[0] : chosen > x[points - 1] ? x[points - 1] : chosen;
                const double moved = fabs(chosen - old);
                // Read as integers, numbers that are not negative keep their order, and a NaN is above all of them.
                const u64 bits = __double_as_longlong(moved);
                if (bits > most) most = bits;
                next[at] = old + damping * (chosen - old);
            }
            __syncthreads();
        }
        part[threadIdx.x] = most;
        __syncthreads();
        for (int half = THREADS / 2; half; half /= 2) {
            if (threadIdx.x < half && part[threadIdx.x + half] > part[threadIdx.x])
                part[threadIdx.x] = part[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) atomicMax(&changes[iteration], part[0]);
        meet(arrived, wanted);
        const u64 change = *(volatile u64 *)&changes[iteration];
        if (blockIdx.x == 0 && threadIdx.x == 0) *done = iteration + 1;
        // Stop also at a NaN.
        if (change < (u64)__double_as_longlong(tol) || change >= 0x7ff0000000000000ULL) return;
    }
}
