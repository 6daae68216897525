// What threads of a block share, and how blocks wait for each other, for `general.cu`. Compiled after `common.cu`. Macro:
// THREADS.

#define WARPS (THREADS / 32)
#define ALTERNATIVES 16  // at most, and
#define REGIMES 8        // at most

// What rows in their order make of an excess E: max(ahead, E + step).
struct Link {
    double ahead, step;
};

// What threads of a block share. `pieces`, `several` and `changed` have two places, for calls in turn: whoever is late with
// one call still reads its own.
struct Block {
    int kind[ALTERNATIVES], regime[ALTERNATIVES], leads_to[ALTERNATIVES], from[ALTERNATIVES];
    double numbers[WARPS], found[WARPS];
    int indexes[WARPS], marks[WARPS], counts[WARPS];
    Link links[WARPS];
    int pieces[2], several[2], changed[2];
    int fault;  // the last call in which a row had no finite objective
    int first;
};

// What blocks tell each other: the largest number, all marks, the sum of counts.
struct Told {
    double number;
    unsigned marks;
    int count;
};

// Blocks that wait for each other. What another block wrote is then read past the first cache (`__ldcg`), which may so keep
// everything else: a load that acquires would empty it. Of two places for what is told one is written while the other may
// still be read.
struct Meeting {
    u64* flags;    // (2, blocks): which meeting it is, and marks
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

// Wait for all blocks. `number` and `count` are told if `more`, which all say alike; marks always are.
__device__ __noinline__ Told meet(Block& b, Meeting& m, unsigned marks, bool more = false, double number = 0.0, int count = 0) {
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
    Told told = {b.found[0], (unsigned)b.marks[0], b.counts[0]};
    for (int w = 1; w < last; w++) {
        told.number = fmax(told.number, b.found[w]);
        told.marks |= (unsigned)b.marks[w];
        told.count += b.counts[w];
    }
    return told;
}

// The same where nothing is told.
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
