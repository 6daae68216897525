// What all kernels share; `gpu_ref/cuda.py` puts it before each of the other files.
// Macro: ETA 2, 1, 0 for any other, 3 for a batch that mixes them.

struct Problem {
    const double *X, *W, *Q;
    double *V0;
    double *value, *previous;  // previous: may be null
    int *policy;
    double *outcome;  // sweeps, what the rule measured, 1 if below epsilon, 1 if single peaks are in doubt
    double beta, eta, epsilon;
};

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

__device__ __noinline__ double power_utility(double c, double eta) { return pow(c, 1.0 - eta) / (1.0 - eta); }

__device__ __forceinline__ double utility(double c, double eta) {
#if ETA == 2
    return -__drcp_rn(c);
#elif ETA == 1
    return log(c);
#elif ETA == 0
    return power_utility(c, eta);
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
