// How large the values of each problem are, for bounds of rounding errors. Compiled by `gpu_ref/cuda/kernels.py` after
// `common.cu`. The second dimension of the launch runs over problems, the first over their `size` states.

// Raise *at to the largest `v` of the threads of a block; no value is negative.
__device__ __forceinline__ void raise(double* at, double v, double* totals) {
    v = largest_of_warp(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++) v = fmax(v, totals[w]);
        // Numbers from zero on have the order of their bits.
        atomicMax((u64*)at, (u64)__double_as_longlong(v));
    }
}

// Raise entries 4 to 7 of each `outcome`, zero before: the largest finite |previous|, the largest finite |value - previous|,
// the largest |value|, infinite if one is not finite, and whether a state has no choice.
extern "C" __global__ void extremes(const Problem* problems, int count, long long size) {
    __shared__ double totals[32];
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        const Problem a = problems[number];
        double before = 0.0, moved = 0.0, most = 0.0, none = 0.0;
        for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
            const double now = a.value[i];
            most = fmax(most, fabs(now) < INFINITE ? fabs(now) : INFINITE);
            if (a.policy[i] < 0) none = 1.0;
            if (!a.previous) continue;
            const double was = a.previous[i], step = fabs(now - was);
            if (fabs(was) < INFINITE) before = fmax(before, fabs(was));
            if (step < INFINITE) moved = fmax(moved, step);
        }
        raise(a.outcome + 4, before, totals);
        raise(a.outcome + 5, moved, totals);
        raise(a.outcome + 6, most, totals);
        raise(a.outcome + 7, none, totals);
    }
}

// Find the lowest consumption W(x, s) - x of staying at x of each problem, 0 if it is negative. `inverted`, zero before, gets
// its bits inverted, so that the lowest is the largest.
extern "C" __global__ void least(const Problem* problems, int count, int points, int states, u64* inverted) {
    __shared__ double totals[32];
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        const Problem a = problems[number];
        double low = INFINITE;
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < points; x += gridDim.x * blockDim.x) {
            const double own = a.X[x];
            for (int s = 0; s < states; s++) low = fmin(low, a.W[(size_t)x * states + s] - own);
        }
        low = -largest_of_warp(-low);
        __syncthreads();
        if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = low;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < blockDim.x / 32; w++) low = fmin(low, totals[w]);
            atomicMax(inverted + number, ~(u64)__double_as_longlong(fmax(low, 0.0)));
        }
    }
}
