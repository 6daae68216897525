// Confirm a value and a policy in one pass over the states. `gpu_ref/confirmation.py` has the theorem and the bound of
// rounding errors. Compiled by `gpu_ref/cuda/kernels.py` after `common.cu`, with -fmad=false.
//
// The third dimension of each launch runs over problems, the others over the states of one: a block has CHUNK rows of one
// exogenous state, a thread one row. A row maps the excess that it receives to the one that it passes on by a function of
// type `Piece`; these functions are composed in the order of the rows.

#define CHUNK 256
#define WARPS (CHUNK / 32)
#define NARROW 16  // largest bracket that a single thread searches

enum { LEAST_EV, MOST_EV, LEAST_V, MOST_V, LEAST, MOST, BAD, SURVEYED };  // entries of a chunk in `surveyed`
enum { GAP, SIZE, LARGEST, BETTER, WRONG, FACTS };                        // entries of a chunk in `facts`
enum { NOISE, FAR, SOUND, ERRORS };                                       // entries of `known`; errors by state follow

// An incoming excess E becomes max(ahead, E + step), and maxima are off by max(0, worst, E + shift) more than one objective.
struct Piece {
    double ahead, step, worst, shift;
};

struct Confirm {
    const double *X, *W, *Q, *V, *value;
    const int* policy;
    int* exact;
    double *ev, *surveyed, *known, *facts;
    Piece* pieces;
    double* found;
    const double* residual;  // if not null, `change` is relative to it
    double beta, eta, change, constant, share, times, far;
    int points, states, chunks;
};

__device__ __forceinline__ Piece nothing() { return {-INFINITE, 0.0, -INFINITE, -INFINITE}; }

__device__ __forceinline__ Piece together(const Piece& first, const Piece& second) {
    return {fmax(second.ahead, first.ahead + second.step), first.step + second.step,
            fmax(fmax(first.worst, second.worst), first.ahead + second.shift),
            fmax(first.shift, first.step + second.shift)};
}

// Compose the pieces of the lanes of a warp, in their order or, if `back`, in the opposite one; the result is in lane 0.
__device__ __forceinline__ Piece of_lanes(Piece piece, bool back, int lanes = 32) {
    for (int by = 1; by < lanes; by *= 2) {
        Piece other;
        other.ahead = __shfl_down_sync(0xffffffffu, piece.ahead, by);
        other.step = __shfl_down_sync(0xffffffffu, piece.step, by);
        other.worst = __shfl_down_sync(0xffffffffu, piece.worst, by);
        other.shift = __shfl_down_sync(0xffffffffu, piece.shift, by);
        if (threadIdx.x % 32 % (2 * by) == 0) piece = back ? together(other, piece) : together(piece, other);
    }
    return piece;
}

__device__ __forceinline__ double largest_of_chunk(double v, double* totals) {
    v = largest_of_warp(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = v;
    __syncthreads();
    double most = totals[0];
    for (int w = 1; w < WARPS; w++) most = fmax(most, totals[w]);
    return most;
}

// Copy the policy, and compute expectations, the ranges on which error bounds depend, and whether tables are finite and in
// order.
extern "C" __global__ void __launch_bounds__(CHUNK) survey(const Confirm* all) {
    const Confirm c = all[blockIdx.z];
    __shared__ double totals[WARPS];
    const int x = blockIdx.x * CHUNK + threadIdx.x, s = blockIdx.y, states = c.states;
    double least = INFINITE, most = -INFINITE, least_v = INFINITE, most_v = -INFINITE, low = INFINITE, high = -INFINITE;
    bool bad = false;
    if (x < c.points) {
        double total = 0.0;
        for (int t = 0; t < states; t++) {
            const double chance = c.Q[s * states + t];
            if (chance != 0.0) total += chance * c.V[(long long)x * states + t];
        }
        const double ev = c.beta * total, wealth = c.W[(long long)x * states + s];
        const double V = c.V[(long long)x * states + s], value = c.value[(long long)x * states + s];
        c.ev[(long long)s * c.points + x] = ev;
        c.exact[(long long)x * states + s] = c.policy[(long long)x * states + s];
        least = most = ev;
        least_v = most_v = V;
        low = high = value;
        bad = !(fabs(ev) < INFINITE && fabs(V) < INFINITE && fabs(value) < INFINITE && fabs(wealth) < INFINITE &&
                fabs(c.X[x]) < INFINITE);
        if (x + 1 < c.points) bad |= !(c.X[x] < c.X[x + 1] && wealth <= c.W[(long long)(x + 1) * states + s]);
    }
    double* const row = c.surveyed + ((long long)s * c.chunks + blockIdx.x) * SURVEYED;
    const double found[] = {-largest_of_chunk(-least, totals), largest_of_chunk(most, totals),
                            -largest_of_chunk(-least_v, totals), largest_of_chunk(most_v, totals),
                            -largest_of_chunk(-low, totals), largest_of_chunk(high, totals),
                            largest_of_chunk(bad ? 1.0 : 0.0, totals)};
    if (threadIdx.x == 0)
        for (int k = 0; k < SURVEYED; k++) row[k] = found[k];
}

// Combine what `survey` found in all chunks; one block a problem.
extern "C" __global__ void __launch_bounds__(CHUNK) gather(const Confirm* all) {
    const Confirm c = all[blockIdx.z];
    __shared__ double totals[WARPS];
    const double unit = 1.1102230246251565e-16, one = c.eta == 1.0 ? 1.0 : 0.0;
    double largest = 0.0, low = INFINITE, high = -INFINITE, bad = 0.0;
    for (int k = threadIdx.x; k < c.states * c.chunks; k += CHUNK) {
        const double* const row = c.surveyed + (long long)k * SURVEYED;
        largest = fmax(largest, fmax(-row[LEAST_V], row[MOST_V]));
        low = fmin(low, row[LEAST]);
        high = fmax(high, row[MOST]);
        bad = fmax(bad, row[BAD]);
    }
    largest = largest_of_chunk(largest, totals);
    low = -largest_of_chunk(-low, totals);
    high = largest_of_chunk(high, totals);
    bad = largest_of_chunk(bad, totals);
    const double far = c.far * fmax(-low, high);
    for (int s = 0; s < c.states; s++) {
        double least = INFINITE, most = -INFINITE;
        for (int k = threadIdx.x; k < c.chunks; k += CHUNK) {
            const double* const row = c.surveyed + ((long long)s * c.chunks + k) * SURVEYED;
            least = fmin(least, row[LEAST_EV]);
            most = fmax(most, row[MOST_EV]);
        }
        least = -largest_of_chunk(-least, totals);
        most = largest_of_chunk(most, totals);
        const double power = power_error(c.eta);
        if (threadIdx.x == 0)
            c.known[ERRORS + s] = power * (fmax(high - least, most - low) + far) +
                                  unit * (one + (c.states + 4) * fmax(most, -least));
    }
    if (threadIdx.x == 0) {
        c.known[NOISE] = unit * (one + (c.states + 4) * largest);
        c.known[FAR] = far;
        c.known[SOUND] = bad == 0.0 && (!c.residual || fabs(*c.residual) < INFINITE);
        c.found[0] = largest;
    }
}

struct Bracket {
    int low, own, high, top;
    double wealth;
};

__device__ __forceinline__ double objective(const Confirm& c, const double* ev, double wealth, int i) {
    return utility(wealth - __ldg(c.X + i), c.eta) + __ldg(ev + i);
}

// Read the choice of a row and those of its neighbours; false if they fall, or if the row cannot afford its own.
__device__ __forceinline__ bool bracket(const Confirm& c, int x, int s, Bracket& b) {
    const long long at = (long long)x * c.states + s;
    b.own = c.exact[at];
    b.low = x > 0 ? c.exact[at - c.states] : 0;
    b.high = x + 1 < c.points ? c.exact[at + c.states] : c.points - 1;
    b.wealth = c.W[at];
    if (!(0 <= b.low && b.low <= b.own && b.own <= b.high && b.high < c.points && c.X[b.own] < b.wealth)) return false;
    b.top = b.high;
    if (!(c.X[b.top] < b.wealth)) {  // Find the highest affordable choice, at least the row's own.
        int low = b.own, high = b.top;
        while (low + 1 < high) {
            const int middle = (low + high) / 2;
            if (c.X[middle] < b.wealth)
                low = middle;
            else
                high = middle;
        }
        b.top = low;
    }
    return true;
}

// The best objective on either side of a row's own choice, and its choice, the lowest of equals.
struct Sides {
    double below, above;
    int below_at, above_at;
};

__device__ __forceinline__ void look(const Confirm& c, const double* ev, double wealth, int i, double& best, int& at) {
    const double found = objective(c, ev, wealth, i);
    if (found > best || (found == best && i < at)) {
        best = found;
        at = i;
    }
}

__device__ __forceinline__ void best_of_lanes(double& best, int& at) {
    for (int other = 16; other; other /= 2) {
        const double theirs = __shfl_xor_sync(0xffffffffu, best, other);
        const int place = __shfl_xor_sync(0xffffffffu, at, other);
        if (theirs > best || (theirs == best && place < at)) {
            best = theirs;
            at = place;
        }
    }
}

// Search both sides of the bracket of each row of a block; a warp takes each wide one. All threads must call it; `todo` is
// whether this thread has a row.
__device__ __forceinline__ Sides sides_of(const Confirm& c, int s, bool todo, const Bracket& b) {
    __shared__ Sides wide[CHUNK];
    __shared__ int waiting[CHUNK], count;
    const double* const ev = c.ev + (long long)s * c.points;
    const int none = 0x7fffffff, lane = threadIdx.x % 32;
    Sides found = {-INFINITE, -INFINITE, none, none};
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const bool is_wide = todo && b.top - b.low > NARROW;
    if (is_wide) waiting[atomicAdd(&count, 1)] = threadIdx.x;
    if (todo && !is_wide) {
        for (int i = b.low; i < b.own; i++) look(c, ev, b.wealth, i, found.below, found.below_at);
        for (int i = b.own + 1; i <= b.top; i++) look(c, ev, b.wealth, i, found.above, found.above_at);
    }
    __syncthreads();
    for (int k = threadIdx.x / 32; k < count; k += WARPS) {
        Bracket their;
        bracket(c, blockIdx.x * CHUNK + waiting[k], s, their);
        Sides theirs = {-INFINITE, -INFINITE, none, none};
        for (int i = their.low + lane; i < their.own; i += 32) look(c, ev, their.wealth, i, theirs.below, theirs.below_at);
        for (int i = their.own + 1 + lane; i <= their.top; i += 32)
            look(c, ev, their.wealth, i, theirs.above, theirs.above_at);
        best_of_lanes(theirs.below, theirs.below_at);
        best_of_lanes(theirs.above, theirs.above_at);
        if (lane == 0) wide[waiting[k]] = theirs;
    }
    __syncthreads();
    return is_wide ? wide[threadIdx.x] : found;
}

// Confirm `exact`, and compare value and policy, as `_rows` of `gpu_ref/confirmation.py` does; one row per thread. With
// `again` only of problems in which choices were repaired.
extern "C" __global__ void __launch_bounds__(CHUNK) confirm(const Confirm* all, int again) {
    const Confirm c = all[blockIdx.z];
    if (again && c.found[1 + BETTER] == 0.0) return;
    __shared__ double totals[WARPS];
    __shared__ Piece of_warps[2][WARPS];
    const int x = blockIdx.x * CHUNK + threadIdx.x, s = blockIdx.y, warp = threadIdx.x / 32;
    const bool here = x < c.points;
    const double twice = 2.0 * c.known[ERRORS + s];
    const double* const ev = c.ev + (long long)s * c.points;
    Bracket b;
    const bool allowed = here && bracket(c, x, s, b);
    const Sides sides = sides_of(c, s, allowed, b);
    const double change = c.residual ? c.change * *c.residual : c.change;
    double gap = 0.0, size = 0.0, largest = 0.0;
    bool wrong = here && !allowed, better = false;
    Piece piece[2] = {nothing(), nothing()};
    if (allowed) {
        double left = b.wealth - c.X[b.own], u = utility(left, c.eta), loss = 0.0;
        const double best = u + ev[b.own];
        const double below = b.low < b.own ? sides.below : best, above = b.own < b.top ? sides.above : best;
        better = (b.low < b.own && below >= best) || above > best;
        const long long at = (long long)x * c.states + s;
        const int given = c.policy[at];
        if (given != b.own) {  // Rounding is largest at the lower consumption of the two choices.
            const double other = given >= 0 && given < c.points ? b.wealth - c.X[given] : -1.0;
            wrong |= !(other > 0.0);
            const double theirs = wrong ? -INFINITE : utility(other, c.eta);
            loss = best - (theirs + ev[wrong ? 0 : given]);
            if (other < left) u = theirs;
        }
        gap = fabs(best - c.value[at]);
        size = fabs(u);
        largest = fabs(best);
        const double doubt = c.constant + (c.share + power_error(c.eta)) * size + c.known[NOISE];
        wrong |= !(gap <= change + c.times * doubt && loss <= 2.0 * (change + c.times * doubt));
        double margin = best - below;
        const bool moves = b.own > b.low || x == 0;
        piece[0] = {moves ? twice : -INFINITE, moves ? twice - margin : 0.0, -INFINITE, -margin};
        // No candidate above the highest affordable one is allowed.
        margin = b.top == b.high ? best - above : INFINITE;
        const bool back = b.own < b.high || x + 1 == c.points;
        piece[1] = {back ? twice : -INFINITE, back ? twice - margin : 0.0, -INFINITE, -margin};
    }
    const double found[] = {largest_of_chunk(better || wrong ? 0.0 : gap, totals), largest_of_chunk(better || wrong ? 0.0 : size, totals),
                            largest_of_chunk(better || wrong ? 0.0 : largest, totals), largest_of_chunk(better ? 1.0 : 0.0, totals),
                            largest_of_chunk(wrong && !better ? 1.0 : 0.0, totals)};
    for (int side = 0; side < 2; side++) {
        piece[side] = of_lanes(piece[side], side);
        if (threadIdx.x % 32 == 0) of_warps[side][warp] = piece[side];
    }
    __syncthreads();
    if (warp < 2) {
        const int lane = threadIdx.x % 32;
        const Piece all = of_lanes(lane < WARPS ? of_warps[warp][lane] : nothing(), warp);
        if (lane == 0) c.pieces[((long long)s * 2 + warp) * c.chunks + blockIdx.x] = all;
    }
    if (threadIdx.x == 0) {
        double* const row = c.facts + ((long long)s * c.chunks + blockIdx.x) * FACTS;
        for (int k = 0; k < FACTS; k++) row[k] = found[k];
    }
}

// Let rows of one parity choose the best between their neighbours' choices.
extern "C" __global__ void __launch_bounds__(CHUNK) mend(const Confirm* all, int parity) {
    const Confirm c = all[blockIdx.z];
    if (c.found[1 + BETTER] == 0.0) return;
    const int x = blockIdx.x * CHUNK + threadIdx.x, s = blockIdx.y;
    Bracket b;
    const bool todo = x < c.points && x % 2 == parity && bracket(c, x, s, b);
    const Sides sides = sides_of(c, s, todo, b);
    if (!todo) return;
    double best = objective(c, c.ev + (long long)s * c.points, b.wealth, b.own);
    int index = b.own;
    if (b.low < b.own && sides.below >= best) {
        best = sides.below;
        index = sides.below_at;
    }
    if (b.own < b.top && sides.above > best) index = sides.above_at;
    // No other thread reads or writes this entry now: neighbours have the other parity.
    if (index != b.own) c.exact[(long long)x * c.states + s] = index;
}

// Combine the outcomes of all chunks; one block a problem, in which a warp takes one exogenous state and direction at a
// time. An error that was found before choices were repaired is not forgotten. `again` as for `confirm`.
extern "C" __global__ void __launch_bounds__(CHUNK) conclude(const Confirm* all, int again) {
    const Confirm c = all[blockIdx.z];
    if (again && c.found[1 + BETTER] == 0.0) return;
    __shared__ double totals[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double facts[FACTS] = {};
    for (int k = threadIdx.x; k < c.states * c.chunks; k += CHUNK)
        for (int f = 0; f < FACTS; f++) facts[f] = fmax(facts[f], c.facts[(long long)k * FACTS + f]);
    for (int f = 0; f < FACTS; f++) facts[f] = largest_of_chunk(facts[f], totals);
    double slack = 0.0;
    const int span = (c.chunks + 31) / 32;
    for (int k = warp; k < 2 * c.states; k += WARPS) {
        const bool back = k % 2;
        Piece piece = nothing();
        for (int chunk = lane * span; chunk < min((lane + 1) * span, c.chunks); chunk++) {
            const Piece next = c.pieces[(long long)k * c.chunks + chunk];
            piece = back ? together(next, piece) : together(piece, next);
        }
        piece = of_lanes(piece, back);
        if (lane == 0) slack = fmax(slack, c.known[ERRORS + k / 2] + fmax(0.0, piece.worst));
    }
    slack = largest_of_chunk(slack, totals);
    if (threadIdx.x == 0) {
        if (!(facts[GAP] <= c.known[FAR]) || (again && c.found[1 + WRONG] != 0.0)) facts[WRONG] = 1.0;
        for (int f = 0; f < FACTS; f++) c.found[1 + f] = facts[f];
        c.found[1 + FACTS] = slack;
        c.found[2 + FACTS] = c.known[SOUND];
    }
}
