// Shared memory of a block, and barriers between blocks, for `general.cu`. Compiled after `common.cu`. Macro: THREADS.

#define WARPS (THREADS / 32)
#define ALTERNATIVES 16  // largest number
#define REGIMES 8        // largest number

// How rows, in their order, map an incoming excess E to the one that they pass on: max(ahead, E + step).
struct Link {
    double ahead, step;
};

// Shared memory of a block. `pieces`, `several` and `changed` have two entries, which alternate between calls, so that a
// thread that is late with one call can still read its entry.
struct Block {
    int kind[ALTERNATIVES], regime[ALTERNATIVES], leads_to[ALTERNATIVES], from[ALTERNATIVES];
    double numbers[WARPS], found[WARPS];
    int indexes[WARPS], marks[WARPS], counts[WARPS];
    Link links[WARPS];
    int pieces[2], several[2], changed[2];
    int fault;  // the last call in which a row had no finite objective
    int first;
};

// What blocks exchange at a barrier: the largest number, all marks, the sum of counts.
struct Report {
    double number;
    unsigned marks;
    int count;
};

// A barrier between blocks. Data of other blocks must afterwards be read past the first-level cache (`__ldcg`); a load with
// acquire semantics would instead invalidate that whole cache. Exchanged data have two places, one of which is written
// while the other may still be read.
struct Meeting {
    u64* flags;    // (2, blocks): number of the barrier, and marks
    double* room;  // (2, blocks, 2)
    int blocks, own;
    unsigned turn;
};

__device__ __forceinline__ double largest_of_block(double v, double* totals) {
    v = largest_of_warp(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = v;
    __syncthreads();
    double most = totals[0];
    for (int w = 1; w < WARPS; w++) most = fmax(most, totals[w]);
    return most;
}

// Wait for all blocks, and exchange marks; if `more`, which must be the same in all blocks, also `number` and `count`.
__device__ __noinline__ Report meet(Block& b, Meeting& m, unsigned marks, bool more = false, double number = 0.0, int count = 0) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    marks = __reduce_or_sync(0xffffffffu, marks);
    if (more) number = largest_of_warp(number);
    if (lane == 0) {
        b.indexes[warp] = (int)marks;
        b.numbers[warp] = number;
    }
    __syncthreads();
    const int place = (m.turn++ & 1) * m.blocks;
    u64* const flags = m.flags + place;
    double* const room = m.room + 2 * place;
    if (warp == 0) {
        marks = __reduce_or_sync(0xffffffffu, lane < WARPS ? (unsigned)b.indexes[lane] : 0u);
        if (more) number = largest_of_warp(lane < WARPS ? b.numbers[lane] : -INFINITE);
        if (lane == 0) {
            if (more) {
                room[2 * m.own] = number;
                room[2 * m.own + 1] = count;
            }
            const u64 flag = ((u64)m.turn << 32) | marks;
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flags + m.own), "l"(flag) : "memory");
        }
    }
    const int last = (min(m.blocks, THREADS) + 31) / 32;
    if (warp < last) {
        number = -INFINITE;
        marks = 0;
        count = 0;
        for (int k = threadIdx.x; k < m.blocks; k += THREADS) {
            u64 now;
            do {
                asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(flags + k) : "memory");
            } while ((unsigned)(now >> 32) != m.turn);
            marks |= (unsigned)now;
            if (more) {
                number = fmax(number, __ldcg(room + 2 * k));
                count += (int)__ldcg(room + 2 * k + 1);
            }
        }
        marks = __reduce_or_sync(0xffffffffu, marks);
        if (more) {
            number = largest_of_warp(number);
            count = (int)__reduce_add_sync(0xffffffffu, (unsigned)count);
        }
        if (lane == 0) {
            b.found[warp] = number;
            b.marks[warp] = (int)marks;
            b.counts[warp] = count;
        }
    }
    __syncthreads();
    Report report = {b.found[0], (unsigned)b.marks[0], b.counts[0]};
    for (int w = 1; w < last; w++) {
        report.number = fmax(report.number, b.found[w]);
        report.marks |= (unsigned)b.marks[w];
        report.count += b.counts[w];
    }
    return report;
}

// Wait for all blocks without exchanging anything.
__device__ __forceinline__ void wait(Meeting& m) {
    __syncthreads();
    u64* const flags = m.flags + (m.turn++ & 1) * m.blocks;
    if (threadIdx.x == 0) {
        const u64 flag = (u64)m.turn << 32;
        asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flags + m.own), "l"(flag) : "memory");
    }
    for (int k = threadIdx.x; k < m.blocks; k += THREADS) {
        u64 now;
        do {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(flags + k) : "memory");
        } while ((unsigned)(now >> 32) != m.turn);
    }
    __syncthreads();
}

// Inclusive scan of `v` over the threads of a block.
template <class T, class Op>
__device__ __forceinline__ T scan(T v, Op op, T* totals) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int by = 1; by < 32; by *= 2) {
        const T other = __shfl_up_sync(0xffffffffu, v, by);
        if (lane >= by) v = op(v, other);
    }
    __syncthreads();
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; w++) v = op(v, totals[w]);
    return v;
}
