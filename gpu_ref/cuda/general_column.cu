// Maximise one alternative in one exogenous state: order of candidates, brackets, divide and conquer, full search.
// `gpu_ref/general/column.py` has the proof. Here candidates keep their index `x'` as number, and dominated ones are
// skipped. Compiled after `general_block.cu`. Macros: THREADS, and TEAM, whether several blocks share an exogenous state;
// each of them then has some of its rows, and all candidates.

#define NARROW 16   // largest bracket that a single thread searches
#define PIECE 128   // candidates of a wide bracket that a warp searches
#define ROUNDS 8    // half-rounds before divide and conquer,
#define FEW 4       // and the same on large grids, where choices are first guessed
#define LARGE 4096  // rows from which a grid is large
#define TOGETHER 4  // candidates of a thread whose tables are loaded together

struct Column {
    const double *wealth, *cost, *ev;
    const int *low, *high;
    double* floor;  // lowest cost of each candidate and those above it; used if cost falls somewhere
    int *policy, *least, *most, *moved, *info;
    int *row, *from, *found, *head, *count;  // pieces of wide brackets; first piece and number for rows with several
    double *value, *best;
    double eta;
    int points, base;
    int begin, end;  // rows of this block
    bool free, falls, flat;
    Meeting* team;
};

enum { FULL, FALLS, BASE, DIRTY };  // entries of `info`

// Wait for all blocks that share the column; returns whether any thread voted.
__device__ __forceinline__ bool join(Block& b, const Column& c, bool vote) {
#if TEAM
    return meet(b, *c.team, vote).marks != 0;
#else
    return __syncthreads_or(vote);
#endif
}

// Read an index that another block may have written.
__device__ __forceinline__ int shared_index(const int* p) {
#if TEAM
    return __ldcg(p);
#else
    return *p;
#endif
}

__device__ __forceinline__ double objective(const Column& c, double wealth, int i) {
    return utility(wealth - c.cost[i], c.eta) + c.ev[i];
}

__device__ __forceinline__ bool dominated(const Column& c, int i) { return c.falls && c.cost[i] != c.floor[i]; }

// The best of every `step`-th candidate from `low` to `high`, the lowest of equals; -1 if no objective is finite.
__device__ __forceinline__ int best_of(const Column& c, int x, int low, int high, int step, double& best, unsigned& work) {
    const double wealth = c.wealth[x];
    int index = -1;
    best = -INFINITE;
    for (int first = low; first <= high; first += TOGETHER * step) {
        double cost[TOGETHER], ev[TOGETHER], least[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const int i = min(first + k * step, high);
            cost[k] = c.cost[i];
            ev[k] = c.ev[i];
            least[k] = c.falls ? c.floor[i] : cost[k];
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            const int i = first + k * step;
            if (i > high || cost[k] != least[k]) continue;
            const double found = utility(wealth - cost[k], c.eta) + ev[k];
            work++;
            if (found > best) {
                best = found;
                index = i;
            }
        }
    }
    return index;
}

__device__ __forceinline__ void better(double& best, int& index, double theirs, int place) {
    if (theirs > best || (theirs == best && place >= 0 && (index < 0 || place < index))) {
        best = theirs;
        index = place;
    }
}

__device__ __forceinline__ void best_of_warp(double& best, int& index) {
    for (int other = 16; other; other /= 2) {
        const double theirs = __shfl_xor_sync(0xffffffffu, best, other);
        const int place = __shfl_xor_sync(0xffffffffu, index, other);
        better(best, index, theirs, place);
    }
}

__device__ __forceinline__ void settle(Block& b, Column& c, int x, int index, double best, int stamp) {
    if (index < 0) {
        b.fault = stamp;
        return;
    }
    if (index != c.policy[x]) {
        c.policy[x] = index;
        c.moved[x] = stamp;
        b.changed[stamp & 1] = stamp;
    }
    c.value[x] = best;
}

__device__ __forceinline__ void bracket(const Column& c, int x, int distance, int& low, int& high) {
    const int least = c.least[x], most = c.most[x];
    low = x - distance >= c.base ? max(least, shared_index(c.policy + x - distance)) : least;
    high = x + distance < c.points ? min(most, shared_index(c.policy + x + distance)) : most;
    if (low > high) {  // The choices on both sides cross: near ties, or a guess that missed a peak.
        const int above = min(most, max(least, low));
        low = distance > 1 ? max(least, min(most, high)) : least;
        high = distance > 1 ? above : most;
    }
}

// Maximise every `stride`-th row from `first` between the choices of the rows `distance` away; if `check`, only rows with a
// neighbour whose choice changed in the last call. Returns whether a choice changed.
__device__ __forceinline__ bool maximise(Block& b, Column& c, int first, int stride, int distance, bool check, int stamp, unsigned& work) {
    const int slot = stamp & 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int low, high;
    double best;
    if (threadIdx.x == 0) b.pieces[slot ^ 1] = b.several[slot ^ 1] = 0;
    const long long skipped = first < c.begin ? (c.begin - first + stride - 1) / stride : 0;
    for (long long row = first + (skipped + threadIdx.x) * stride; row < c.end; row += (long long)THREADS * stride) {
        const int x = (int)row;
        if (check && !((x > c.base && shared_index(c.moved + x - 1) == stamp - 1) ||
                       (x + 1 < c.points && shared_index(c.moved + x + 1) == stamp - 1)))
            continue;
        bracket(c, x, distance, low, high);
        if (high - low < NARROW) {
            const int index = best_of(c, x, low, high, 1, best, work);
            settle(b, c, x, index, best, stamp);
            continue;
        }
        const int many = (high - low) / PIECE + 1, at = atomicAdd(&b.pieces[slot], many);
        if (at + many > c.points) {  // Only possible if choices cross because of near ties.
            b.fault = stamp;
            continue;
        }
        for (int k = 0; k < many; k++) {
            c.row[at + k] = x;
            c.from[at + k] = low + k * PIECE;
        }
        if (many > 1) {
            const int place = atomicAdd(&b.several[slot], 1);
            c.head[place] = at;
            c.count[place] = many;
        }
    }
    __syncthreads();
    const int pieces = min(b.pieces[slot], c.points);
    if (pieces) {
        for (int k = warp; k < pieces; k += WARPS) {
            const int x = c.row[k], from = c.from[k];
            bracket(c, x, distance, low, high);
            int index = best_of(c, x, from + lane, min(high, from + PIECE - 1), 32, best, work);
            best_of_warp(best, index);
            if (lane == 0) {
                if (high - low < PIECE) {
                    settle(b, c, x, index, best, stamp);
                } else {
                    c.best[k] = best;
                    c.found[k] = index;
                }
            }
        }
        __syncthreads();
        const int several = b.several[slot];
        if (several) {
            for (int m = threadIdx.x; m < several; m += THREADS) {
                const int head = c.head[m], many = c.count[m];
                best = -INFINITE;
                int index = -1;
                for (int k = head; k < head + many; k++) better(best, index, c.best[k], c.found[k]);
                settle(b, c, c.row[head], index, best, stamp);
            }
            __syncthreads();
        }
    }
#if TEAM
    return join(b, c, b.changed[slot] == stamp);
#else
    return b.changed[slot] == stamp;
#endif
}

// The last entry of `order` between `low` and `high` below `wealth`, low - 1 if none is; `order` does not fall. `guess` is
// tried first.
__device__ __forceinline__ int affordable(const double* order, double wealth, int low, int high, int guess) {
    if (guess >= low && guess <= high && order[guess] < wealth && (guess == high || !(order[guess + 1] < wealth)))
        return guess;
    int end = high + 1;
    while (low < end) {
        const int middle = (low + end) / 2;
        if (order[middle] < wealth)
            low = middle + 1;
        else
            end = middle;
    }
    return low - 1;
}

// After tables have changed: find which candidates are dominated, what each row may choose, and the first row with a choice.
__device__ __forceinline__ void arrange(Block& b, Column& c) {
    const int begin = c.low[0], end = c.high[c.points - 1];
    bool falls = false;
    for (int i = begin + threadIdx.x; i < end; i += THREADS) falls |= c.cost[i + 1] < c.cost[i];
    c.falls = __syncthreads_or(falls && !c.free);
    if (threadIdx.x == 0) b.first = c.points;
    int least = begin;
    if (c.falls && c.flat) {
        double carry = INFINITE;
        for (int top = end; top >= begin; top -= THREADS) {
            const int i = top - (int)threadIdx.x;
            double v = i >= begin ? c.cost[i] : INFINITE;
            v = fmin(scan(v, [](double p, double q) { return fmin(p, q); }, b.numbers), carry);
            if (i >= begin) c.floor[i] = v;
            __syncthreads();
            carry = c.floor[max(begin, top - THREADS + 1)];
        }
        // The cheapest candidate is the first that is not dominated.
        for (int i = begin + threadIdx.x; i <= end; i += THREADS)
            if (c.cost[i] == c.floor[i]) atomicMin(&b.first, i);
        __syncthreads();
        least = b.first;
        __syncthreads();
        if (threadIdx.x == 0) b.first = c.points;
    }
    __syncthreads();
    const double* const order = c.falls && c.flat ? c.floor : c.cost;
    for (int x = c.begin + threadIdx.x; x < c.end; x += THREADS) {
        const int low = c.falls ? least : c.low[x], high = c.high[x];
        const int most = c.free ? high : affordable(order, c.wealth[x], low, high, c.most[x]);
        c.least[x] = low;
        c.most[x] = most;
        if (low <= most) atomicMin(&b.first, x);
    }
    __syncthreads();
    c.base = b.first;
#if TEAM
    c.base = c.points - (int)meet(b, *c.team, 0, true, c.points - c.base).number;
#endif
    bool gap = false;
    for (int x = max(c.base, c.begin) + threadIdx.x; x < c.end; x += THREADS) gap |= c.least[x] > c.most[x];
    gap = join(b, c, gap);
    if (threadIdx.x == 0) {
        c.info[FULL] = (c.falls && !c.flat) || gap;
        c.info[FALLS] = c.falls;
        c.info[BASE] = c.base;
    }
    __syncthreads();
}

// Turn the policy into one that does not fall and is allowed.
__device__ __forceinline__ void begin(Block& b, Column& c) {
    for (int x = c.begin + threadIdx.x; x < c.end; x += THREADS) {
        int i = c.policy[x];
        if (i < 0 || i >= c.points || (c.falls && (i < c.low[0] || i > c.high[0] || dominated(c, i)))) i = -1;
        c.policy[x] = x < c.base ? -1 : min(max(i, c.least[x]), c.most[x]);
        if (x < c.base) c.value[x] = -INFINITE;
    }
    join(b, c, false);
    bool falls = false;
    for (int x = max(c.base + 1, c.begin) + threadIdx.x; x < c.end; x += THREADS)
        falls |= c.policy[x] < shared_index(c.policy + x - 1);
    if (!join(b, c, falls)) return;
    int carry = -1;
#if TEAM
    // The largest choice of the rows before those of this block.
    for (int x = c.base + threadIdx.x; x < c.begin; x += THREADS) carry = max(carry, shared_index(c.policy + x));
    carry = (int)largest_of_block(carry, b.numbers);
    join(b, c, false);
#endif
    for (int from = max(c.base, c.begin); from < c.end; from += THREADS) {
        const int x = from + (int)threadIdx.x;
        int v = x < c.end ? c.policy[x] : -1;
        v = max(scan(v, [](int p, int q) { return max(p, q); }, b.indexes), carry);
        if (x < c.end) c.policy[x] = v;
        __syncthreads();
        carry = c.policy[min(from + THREADS, c.end) - 1];
    }
    join(b, c, false);
}

// Guess the choices of rows `stride` apart; one warp per row. Each evaluates every `stride / 2`-th candidate, then those
// around the best of them. If `stride` is about the square root of the number of rows, this takes a few evaluations for
// each row of the column.
__device__ __forceinline__ void guess(Block& b, Column& c, int stride, int stamp, unsigned& work) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, apart = stride / 2, first = c.base + stride - 1;
    const int skipped = first < c.begin ? (c.begin - first + stride - 1) / stride : 0;
    for (int x = first + (skipped + warp) * stride; x < c.end; x += WARPS * stride) {
        const int low = c.least[x], high = c.most[x];
        double best;
        int index = best_of(c, x, low + lane * apart, high, 32 * apart, best, work);
        best_of_warp(best, index);
        if (index >= 0) {
            const int from = max(low, index - apart + 1), to = min(high, index + apart - 1);
            index = best_of(c, x, from + lane, to, 32, best, work);
            best_of_warp(best, index);
        }
        if (lane == 0) settle(b, c, x, index, best, stamp);
    }
    __syncthreads();
    join(b, c, false);
}

// Full search; one warp per row.
__device__ __forceinline__ void search_all(Column& c, unsigned& work) {
    const int lane = threadIdx.x % 32;
    for (int x = c.begin + threadIdx.x / 32; x < c.end; x += WARPS) {
        const double wealth = c.wealth[x];
        double best = -INFINITE;
        int index = -1;
        for (int i = c.low[x] + lane; i <= c.high[x]; i += 32) {
            if (!c.free && !(c.cost[i] < wealth)) continue;
            const double found = objective(c, wealth, i);
            work++;
            if (found > best) {
                best = found;
                index = i;
            }
        }
        best_of_warp(best, index);
        if (lane == 0) {
            c.value[x] = best;
            c.policy[x] = index;
        }
    }
    __syncthreads();
}

// Divide and conquer. If `guessed`, the choices of some rows are guessed first and repaired with brackets between each
// other, and divide and conquer fills in the rows between them; a peak that the guess missed costs only a few more levels.
__device__ __forceinline__ void divide(Block& b, Column& c, bool guessed, int& stamp, unsigned& work) {
    int step = 1;
    while (2 * step <= c.points - c.base) step *= 2;
    if (guessed) {
        while (step > 2 && (long long)step * step > c.points - c.base) step /= 2;
        guess(b, c, step, ++stamp, work);
        for (int number = 1; number <= ROUNDS; number++) {
            const int first = c.base + (number % 2 ? 2 : 1) * step - 1;
            if (!maximise(b, c, first, 2 * step, step, false, ++stamp, work) && number > 1) break;
        }
        step /= 2;
    }
    for (; step; step /= 2) maximise(b, c, c.base + step - 1, 2 * step, step, false, ++stamp, work);
    begin(b, c);
}

// Whether every skipped candidate is dominated. If expectations do not fall, the last candidate that costs no more dominates
// it.
__device__ __forceinline__ bool removable(const Column& c) {
    const int begin = c.low[0], end = c.high[0];
    bool falls = false;
    for (int i = begin + threadIdx.x; i < end; i += THREADS) falls |= c.ev[i + 1] < c.ev[i];
    if (!__syncthreads_or(falls)) return true;
    bool stays = false;
    for (int i = begin + threadIdx.x; i < end; i += THREADS) {
        if (!dominated(c, i)) continue;
        int low = i, last = end + 1;  // floor[low] <= cost[i]
        while (low + 1 < last) {
            const int middle = (low + last) / 2;
            if (c.floor[middle] <= c.cost[i])
                low = middle;
            else
                last = middle;
        }
        stays |= c.ev[low] < c.ev[i];
    }
    return !__syncthreads_or(stays);
}

// Maximise every row and prove it. `fresh`: the tables are new; `cold`: there is no policy to start from. Returns whether it
// searched in full.
__device__ __forceinline__ bool search(Block& b, Column& c, bool fresh, bool cold, int& stamp, unsigned& work) {
    if (fresh) arrange(b, c);
    c.falls = c.info[FALLS];
    c.base = c.info[BASE];
    bool full = c.info[FULL];
    const int begun = stamp;
    const bool dirty = c.info[DIRTY];
    if (!full && c.falls) full = !removable(c);
    if (!full) {
        if (fresh || dirty) begin(b, c);
        const bool large = c.points - c.base >= LARGE;
        int divided = 0;  // 1: divide and conquer from guessed choices, 2: from scratch
        if (cold) {
            divided = large ? 1 : 2;
            divide(b, c, large, stamp, work);
        }
        for (int number = 1;; number++) {
            const bool moved = maximise(b, c, c.base + number % 2, 2, 1, number > 2, ++stamp, work);
            if (number >= 2 && !moved) break;
            if (divided < 2 && number == (large && !divided ? FEW : ROUNDS)) {
                divided = large ? divided + 1 : 2;
                divide(b, c, divided == 1, stamp, work);
                number = 0;
            }
        }
        // A barrier: no thread may record a new fault before all have read this one.
        full = join(b, c, b.fault > begun);
    }
    if (full) search_all(c, work);
    if (full != dirty) {
        if (threadIdx.x == 0) c.info[DIRTY] = full;
        __syncthreads();
    }
    return full;
}
