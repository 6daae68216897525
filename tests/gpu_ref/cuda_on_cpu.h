// Enough of CUDA for a C++ compiler: the threads of a block are threads of the processor, the blocks of a launch follow
// one another. The memory of a block is one array, which `extern __shared__` declarations name.
#include <barrier>
#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

struct Dim { unsigned int x; };
static thread_local Dim threadIdx;
static Dim blockIdx;
static std::barrier<> *block_barrier;
static std::mutex atomic_lock;
alignas(16) unsigned char room[1 << 18];

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)

static void __syncthreads() { block_barrier->arrive_and_wait(); }
static int __float_as_int(float x) { int bits; std::memcpy(&bits, &x, 4); return bits; }
static long long __double_as_longlong(double x) { long long bits; std::memcpy(&bits, &x, 8); return bits; }
static void atomicAdd(unsigned long long *at, unsigned long long value) {
    std::lock_guard<std::mutex> guard(atomic_lock);
    *at += value;
}
using std::fmax;
using std::fmin;

template <class Kernel, class... Arguments>
static void launch(unsigned int blocks, unsigned int threads, Kernel kernel, Arguments... arguments) {
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        // What a block leaves in its memory is no other's.
        std::memset(room, 0xff, sizeof room);
        std::barrier<> barrier(threads);
        block_barrier = &barrier;
        std::vector<std::thread> team;
        for (unsigned int t = 0; t < threads; t++)
            team.emplace_back([=, &barrier] {
                threadIdx.x = t;
                kernel(arguments...);
                // Threads that return early are waited for no more.
                barrier.arrive_and_drop();
            });
        for (auto &thread : team) thread.join();
    }
}
