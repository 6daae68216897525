// One period of a panel; `gpu_ref/cuda_panel.py` says what it computes, and launches both kernels for each period.
// Macros: SINGLE (1: agents in single precision), CUBIC (1: Catmull-Rom, 0: linear), THREADS of a block, a power of
// two, AGENTS of a block, NEAR (1: a block copies the tables to shared memory first).

#if SINGLE
typedef float Real;
__device__ __forceinline__ long long bits_of(float x) { return __float_as_int(x); }
#else
typedef double Real;
__device__ __forceinline__ long long bits_of(double x) { return __double_as_longlong(x); }
#endif

struct __align__(2 * sizeof(Real)) Cell { Real x, step; };          // x_i and 1 / (x_(i+1) - x_i); `step` of the last point is not used
struct __align__(16) Cubic { Real c0, c1, c2, c3; };  // of (k - x_i) / (x_(i+1) - x_i)

extern __shared__ __align__(16) unsigned char room[];

// Sum of all threads' `value`, in an order that depends on nothing. All threads must call it.
__device__ double sum_of_block(double value, double *part) {
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    double total = part[0];
    __syncthreads();
    return total;
}

// Where K lies: the first of four neighbouring columns and their weights. Returns whether it is on the grid.
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

// One block: K of period t from the sums of the period before, and the cubics of period t. With `last`, K alone.
extern "C" __global__ void begin(
    const double *policy, const double *grid, const double *means, int points, int columns,
    const signed char *aggregate, int t, int last, const double *sums, int blocks, double agents, double *capital,
    double *values, Cubic *cubics, unsigned long long *counts) {
    double *part = (double *)room, *weights = part + THREADS;
    if (t > 0) {
        double total = 0.0;
        for (int b = threadIdx.x; b < blocks; b += THREADS) total += sums[b];
        total = sum_of_block(total, part);
        if (threadIdx.x == 0) capital[t] = total / agents;
    }
    if (last) return;
    __syncthreads();
    if (threadIdx.x == 0) {
        int first;
        bool inside = column(capital[t], means, columns, &first, weights);
        weights[4] = first;
        counts[2] += !inside;
    }
    __syncthreads();
    int first = (int)weights[4], state = aggregate[t];
    for (int place = threadIdx.x; place < 2 * points; place += THREADS) {
        int e = place / points, i = place % points;
        double total = 0.0;
        for (int j = 0; j < 4; j++)
            if (weights[j] != 0.0)
                total += weights[j] * policy[(((size_t)i * columns + first + j) * 2 + state) * 2 + e];
        values[place] = total;
    }
    __syncthreads();
    for (int place = threadIdx.x; place < 2 * (points - 1); place += THREADS) {
        int e = place / (points - 1), i = place % (points - 1);
        const double *v = values + e * points;
        double rise = v[i + 1] - v[i];
        Cubic c;
        c.c0 = (Real)v[i];
#if CUBIC
        int low = i > 0 ? i - 1 : 0, high = i + 2 < points ? i + 2 : points - 1;
        double h = grid[i + 1] - grid[i];
        double left = h * (v[i + 1] - v[low]) / (grid[i + 1] - grid[low]);
        double right = h * (v[high] - v[i]) / (grid[high] - grid[i]);
        c.c1 = (Real)left;
        c.c2 = (Real)(3 * rise - 2 * left - right);
        c.c3 = (Real)(left + right - 2 * rise);
#else
        c.c1 = (Real)rise;
        c.c2 = c.c3 = (Real)0;
#endif
        cubics[place] = c;
    }
}

// Every agent one period on, in place. `employed`: the words of this period. counts: below, above, K outside.
extern "C" __global__ void __launch_bounds__(THREADS) move(
    Real *k, const unsigned long long *employed, const Cubic *all_cubics, const Cell *all_cells,
    const unsigned short *all_places, int points, int entries, long long base, int shift, long long agents,
    double *sums, unsigned long long *counts) {
    double *part = (double *)room;
#if NEAR
    Cubic *cubics = (Cubic *)(part + THREADS);
    Cell *cells = (Cell *)(cubics + 2 * (points - 1));
    unsigned short *places = (unsigned short *)(cells + points);
    for (int i = threadIdx.x; i < 2 * (points - 1); i += THREADS) cubics[i] = all_cubics[i];
    for (int i = threadIdx.x; i < points; i += THREADS) cells[i] = all_cells[i];
    for (int i = threadIdx.x; i < entries; i += THREADS) places[i] = all_places[i];
    __syncthreads();
#else
    const Cubic *cubics = all_cubics;
    const Cell *cells = all_cells;
    const unsigned short *places = all_places;
#endif
    const Real low = cells[0].x, high = cells[points - 1].x;
    long long first = (long long)blockIdx.x * AGENTS, end = first + AGENTS < agents ? first + AGENTS : agents;
    double total = 0.0;
    unsigned int under = 0, over = 0;
    for (long long j = first + threadIdx.x; j < end; j += THREADS) {
        Real x = k[j];
        int e = (int)(employed[j / 64] >> (j % 64)) & 1;
        long long place = (bits_of(x) >> shift) - base;
        int i = places[place > 0 ? place : 0];
        while (i < points - 2 && cells[i + 1].x <= x) i++;
        Cell cell = cells[i];
        Cubic c = cubics[e * (points - 1) + i];
        Real t = (x - cell.x) * cell.step;
        Real y = c.c0 + t * (c.c1 + t * (c.c2 + t * c.c3));
        if (!(y >= low)) {
            y = low;
            under++;
        } else if (y > high) {
            y = high;
            over++;
        }
        k[j] = y;
        total += y;
    }
    if (under) atomicAdd(&counts[0], (unsigned long long)under);
    if (over) atomicAdd(&counts[1], (unsigned long long)over);
    total = sum_of_block(total, part);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
