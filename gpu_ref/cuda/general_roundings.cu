// Bound by how much the search of one alternative may have missed a maximum because of rounding. Compiled after
// `general_column.cu`; macro: THREADS.

__device__ __forceinline__ Link linked(const Link& first, const Link& second) {
    return {fmax(second.ahead, first.ahead + second.step), first.step + second.step};
}

// Compose the links of all threads before this one; `all` receives the composition of all threads, in every thread.
__device__ __forceinline__ Link before_thread(Link own, Link* room, Link& all) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Link none = {-INFINITE, 0.0};
    for (int by = 1; by < 32; by *= 2) {
        const Link other = {__shfl_up_sync(0xffffffffu, own.ahead, by), __shfl_up_sync(0xffffffffu, own.step, by)};
        if (lane >= by) own = linked(other, own);
    }
    __syncthreads();
    if (lane == 31) room[warp] = own;
    const Link left = {__shfl_up_sync(0xffffffffu, own.ahead, 1), __shfl_up_sync(0xffffffffu, own.step, 1)};
    __syncthreads();
    Link before = none;
    for (int w = 0; w < warp; w++) before = linked(before, room[w]);
    all = before;
    for (int w = warp; w < WARPS; w++) all = linked(all, room[w]);
    return lane ? linked(before, left) : before;
}

// Bound the distance of each value of this block's rows from the maximum in exact arithmetic, as `row_slack` of
// `gpu_ref/brackets.py` does. A row maps an incoming excess E to max(ahead, E + step); the rows of a thread, and those of a
// block, compose to a function of the same form. `links` has 4 entries for each block that shares the column, two of which
// are written while the others may still be read.
__device__ __forceinline__ void doubt(Block& b, const Column& c, bool full, double noise, Link* links, double* slack) {
    double least = INFINITE, most = -INFINITE;
    const int low_end = c.low[0], high_end = c.high[c.points - 1];
    for (int i = low_end + threadIdx.x; i <= high_end; i += THREADS) {
        least = fmin(least, c.ev[i]);
        most = fmax(most, c.ev[i]);
    }
    most = largest_of_block(most, b.numbers);
    least = -largest_of_block(-least, b.numbers);
    __syncthreads();
    const double power = power_error(c.eta);
    auto error_of = [&](int x) { return noise + power * fmax(fabs(c.value[x] - least), fabs(c.value[x] - most)); };
    if (full) {
        for (int x = c.begin + threadIdx.x; x < c.end; x += THREADS) slack[x] = c.policy[x] >= 0 ? error_of(x) : 0.0;
        __syncthreads();
        return;
    }
    const int begin = min(c.end, max(c.base, c.begin)), count = c.end - begin;
    for (int x = c.begin + threadIdx.x; x < begin; x += THREADS) slack[x] = 0.0;
    const int span = (count + THREADS - 1) / THREADS;
    const int from = min(count, (int)threadIdx.x * span), to = min(count, from + span);
    auto margin = [&](int side, int x, int& choice) {
        const int before = side ? x + 1 : x - 1;
        choice = -1;
        if (before < c.base || before >= c.points) return INFINITE;
        choice = shared_index(c.policy + before);
        const int end = side ? min(c.most[x], choice) : max(c.least[x], choice);
        if (end == (side ? c.most[x] : c.least[x])) return INFINITE;
        return c.value[x] - objective(c, c.wealth[x], end);
    };
    Link reached[2], all;
    links += 2 * c.team->blocks * (c.team->turn & 1);
    for (int side = 0; side < 2; side++) {
        Link link = {-INFINITE, 0.0};
        for (int k = from; k < to; k++) {
            const int x = side ? c.end - 1 - k : begin + k;
            int choice;
            const double gap = margin(side, x, choice);
            if (gap == INFINITE || c.policy[x] != choice) {
                const double twice = 2.0 * error_of(x);
                link = linked(link, {twice, twice - gap});
            }
        }
        reached[side] = before_thread(link, b.links, all);
        if (threadIdx.x == 0) links[2 * c.team->own + side] = all;
    }
    double excess[2] = {reached[0].ahead, reached[1].ahead};
#if TEAM
    meet(b, *c.team, 0);
    for (int side = 0; side < 2; side++) {
        double before = -INFINITE;
        const int parts = side ? c.team->blocks - 1 - c.team->own : c.team->own;
        for (int p = 0; p < parts; p++) {
            const double* const theirs = &links[2 * (side ? c.team->blocks - 1 - p : p) + side].ahead;
            before = fmax(__ldcg(theirs), before + __ldcg(theirs + 1));
        }
        excess[side] = fmax(excess[side], before + reached[side].step);
    }
#endif
    for (int side = 0; side < 2; side++) {
        for (int k = from; k < to; k++) {
            const int x = side ? c.end - 1 - k : begin + k;
            int choice;
            const double gap = margin(side, x, choice), error = error_of(x), beyond = excess[side] - gap;
            const double found = error + fmax(0.0, beyond);
            slack[x] = side ? fmax(slack[x], found) : found;
            if (gap == INFINITE || c.policy[x] != choice) excess[side] = fmax(2.0 * error, beyond + 2.0 * error);
        }
        __syncthreads();
    }
    for (int x = begin + threadIdx.x; x < c.end; x += THREADS) slack[x] = 1.001 * slack[x] + (c.falls ? 2.0 * noise : 0.0);
    __syncthreads();
}
