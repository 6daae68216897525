// The part of CUDA that the kernels use, for a C++ compiler. All threads of all blocks of a launch are threads of the
// processor and run at the same time, as in a cooperative launch. Each block has its own barrier and its own shared
// memory, whose content is arbitrary at first.
#include <atomic>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Dim { unsigned int x; };
struct Block {
    std::barrier<> barrier;
    alignas(16) unsigned char memory[1 << 18];
    std::atomic<int> votes[2] = {0, 0};
    unsigned char lanes[1024][8];
    std::vector<std::unique_ptr<std::barrier<>>> warps;
    explicit Block(unsigned int threads) : barrier(threads) {
        std::memset(memory, 0xff, sizeof memory);
        for (unsigned int begin = 0; begin < threads; begin += 32)
            warps.push_back(std::make_unique<std::barrier<>>(std::min(32u, threads - begin)));
    }
};
static thread_local Dim threadIdx, blockIdx;
static Dim gridDim;
static thread_local Block *block;
static std::mutex atomic_lock;

#define SHARED (block->memory)
#define PAUSE() std::this_thread::yield()
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

static void __syncthreads() { block->barrier.arrive_and_wait(); }
static int __syncthreads_count(bool vote) {
    block->votes[0] += vote;
    __syncthreads();
    const int found = block->votes[0];
    __syncthreads();
    if (threadIdx.x == 0) block->votes[0] = 0;
    __syncthreads();
    return found;
}
static int __syncthreads_or(bool vote) { return __syncthreads_count(vote) != 0; }
template <class Word>
static Word __shfl_xor_sync(unsigned int, Word value, int lane) {
    auto &warp = *block->warps[threadIdx.x / 32];
    std::memcpy(block->lanes[threadIdx.x], &value, sizeof value);
    warp.arrive_and_wait();
    Word other;
    std::memcpy(&other, block->lanes[threadIdx.x ^ lane], sizeof other);
    warp.arrive_and_wait();
    return other;
}
template <class Word>
static Word __ldg(const Word *at) { return *at; }
static double __drcp_rn(double x) { return 1.0 / x; }
static int __clz(int x) { return std::countl_zero((unsigned int)x); }
static double __longlong_as_double(unsigned long long bits) { return std::bit_cast<double>(bits); }
static void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
static int __float_as_int(float x) { int bits; std::memcpy(&bits, &x, 4); return bits; }
static long long __double_as_longlong(double x) { long long bits; std::memcpy(&bits, &x, 8); return bits; }
template <class Word>
static void atomicAdd(Word *at, Word value) {
    std::lock_guard<std::mutex> guard(atomic_lock);
    *at += value;
}
template <class Word>
static void atomicMax(Word *at, Word value) {
    std::lock_guard<std::mutex> guard(atomic_lock);
    if (value > *at) *at = value;
}
using std::fabs;
using std::fmax;
using std::fmin;
using std::max;
using std::min;

template <class Kernel, class... Arguments>
static void launch(unsigned int blocks, unsigned int threads, Kernel kernel, Arguments... arguments) {
    gridDim.x = blocks;
    std::vector<std::unique_ptr<Block>> all;
    std::vector<std::thread> team;
    for (unsigned int b = 0; b < blocks; b++) all.push_back(std::make_unique<Block>(threads));
    for (unsigned int i = 0; i < blocks * threads; i++)
        team.emplace_back([=, &all] {
            blockIdx.x = i / threads;
            threadIdx.x = i % threads;
            block = all[blockIdx.x].get();
            kernel(arguments...);
            // The barrier no longer waits for threads that have returned.
            block->barrier.arrive_and_drop();
        });
    for (auto &thread : team) thread.join();
}
