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

// Raise entries 4 to 6 of each `outcome`, zero before: the largest finite |previous|, the largest finite |value - previous|,
// and the largest |value|, infinite if one is not finite.
extern "C" __global__ void extremes(const Problem* problems, int count, long long size) {
    __shared__ double totals[32];
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        const Problem a = problems[number];
        double before = 0.0, moved = 0.0, most = 0.0;
        for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
            const double now = a.value[i];
            most = fmax(most, fabs(now) < INFINITE ? fabs(now) : INFINITE);
            if (!a.previous) continue;
            const double was = a.previous[i], step = fabs(now - was);
            if (fabs(was) < INFINITE) before = fmax(before, fabs(was));
            if (step < INFINITE) moved = fmax(moved, step);
        }
        raise(a.outcome + 4, before, totals);
        raise(a.outcome + 5, moved, totals);
        raise(a.outcome + 6, most, totals);
    }
}
