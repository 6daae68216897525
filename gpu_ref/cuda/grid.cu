// Barrier and sum for kernels whose blocks are all on the device at once. `gpu_ref/krusell_smith/cuda_panel.py` and
// `gpu_ref/krusell_smith/cuda_euler.py` put this file before their kernels, launch them cooperatively, and set `arrived` to
// 0 before each launch. Macro: THREADS of a block, a power of two.

typedef unsigned long long u64;

#ifndef SHARED
extern __shared__ __align__(16) unsigned char room[];
#define SHARED room
#define PAUSE()
#endif

// Wait for all blocks. Everything written before the call is visible after it. `wanted` is a variable of each thread,
// initially 0.
__device__ __forceinline__ void meet(unsigned int *arrived, unsigned int &wanted) {
    __syncthreads();
    wanted += gridDim.x;
    if (gridDim.x > 1 && threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned int *)arrived < wanted) PAUSE();
        __threadfence();
    }
    __syncthreads();
}

// Sum of `value` over all threads of a block, always in the same order. All threads must call it.
__device__ __forceinline__ double sum_of_block(double value, double *part) {
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
