// The whole iteration on a problem of the general form (`gpu_ref/general/`), in one cooperative launch. A block has all
// alternatives of an exogenous state, so a sweep needs one barrier for all blocks; if tables are large, several blocks share
// the rows and expectations of an exogenous state. Compiled by `gpu_ref/cuda/kernels.py` after `general_roundings.cu`, with
// -fmad=false.

#define AHEAD (THREADS > 256 ? 24 : 32)  // loads that are issued before the first one is needed,
#define SHORT 8                          // and the same for at most this many exogenous states

struct Work {
    const General& g;
    Block& b;
    Meeting &all, &team;
    int group, part;
    int begin, end;  // rows of this block
    unsigned work;

    __device__ __forceinline__ long long at(long long d, long long s) const { return (d * g.states + s) * g.points; }

    // Offset in a table of which every block has its own copy.
    __device__ __forceinline__ long long own(long long d, long long s) const {
        return TEAM ? (d * g.groups * g.parts + blockIdx.x) * g.points : at(d, s);
    }

    __device__ __forceinline__ double* V(int buffer, long long r, long long s) const {
        return g.V + ((buffer * g.regimes + r) * g.states + s) * g.points;
    }

    __device__ __forceinline__ double* priced(int costs, int s) const { return g.priced + own(costs, s); }

    __device__ __forceinline__ const double* cost(int d, int s, int costs) const {
        return g.face && d == g.repay ? priced(costs, s) : g.cost + at(d, s);
    }

    __device__ __forceinline__ const int* reach(int d, int s) const { return g.reach + (d * g.states + s) * 2; }

    // `kappa + beta sum_t Q(s, t) V(x', t)`, summed in the order of `t`, where V is that of one regime or a mix of several.
    __device__ __forceinline__ double expect(int d, int s, int i, int buffer) const {
        return g.states <= SHORT ? expect_by<SHORT>(d, s, i, buffer) : expect_by<AHEAD>(d, s, i, buffer);
    }

    template <int LOADS>
    __device__ __forceinline__ double expect_by(int d, int s, int i, int buffer) const {
        const double* const chances = g.transition + (d * g.states + s) * g.states;
        const int sole = b.leads_to[d], states = (int)g.states;
        const double* next = (sole >= 0 ? V(buffer, sole, 0) : g.mixed + at(d, 0)) + i;
        double total = 0.0;
        for (int t = 0; t < states; t += LOADS) {
            double found[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++) found[k] = __ldcg(next + min(t + k, states - 1) * g.points);
#pragma unroll
            for (int k = 0; k < LOADS; k++) {
                const double more = total + __ldg(chances + min(t + k, states - 1)) * found[k];
                total = t + k < states ? more : total;
            }
        }
        return total * g.beta[d * g.states + s] + g.kappa[d * g.states + s];
    }

    // Compute the expectations of all alternatives as one long list, which balances alternatives of different sizes.
    __device__ __forceinline__ void expect_all(int buffer) {
        for (int s = group; s < g.states; s += (int)g.groups) {
            for (long long item = part * THREADS + threadIdx.x;; item += g.parts * THREADS) {
                long long i = item;
                int d = 0;
                for (; d < g.count; d++) {
                    const int* const ends = reach(d, s);
                    const int first = __ldg(ends), size = __ldg(ends + 1) - first + 1;
                    if (i < size) {
                        i += first;
                        break;
                    }
                    i -= size;
                }
                if (d == g.count) break;
                const double found = expect(d, s, (int)i, buffer);
                if (g.near && !TEAM)
                    near[item] = found;
                else
                    g.ev[at(d, s) + i] = found;
            }
        }
#if TEAM
        // The first-level cache may hold old data of the other blocks: read their results past it.
        meet(b, team, 0);
        for (int d = 0; d < g.count; d++) {
            const int* const ends = reach(d, group);
            double *const mine = future(d, group), *const theirs = g.ev + at(d, group);
            for (int i = ends[0] + threadIdx.x; i <= ends[1]; i += THREADS) mine[i] = __ldcg(theirs + i);
        }
#endif
        __syncthreads();
    }

    // Address at which the expectation of `x' = 0` is, or would be if it were needed.
    __device__ __forceinline__ double* future(int d, int s) const {
        if (g.near) return near + b.from[d];
        return TEAM ? g.team_ev + own(d, s) : g.ev + at(d, s);
    }

    __device__ __forceinline__ Column column(int d, int s, int costs) const {
        const long long o = at(d, s), lists = TEAM ? (long long)blockIdx.x : (long long)s;
        int* const list = g.list + lists * 5 * g.points;
        Column c;
        c.wealth = g.wealth + o;
        c.cost = cost(d, s, costs);
        c.ev = future(d, s);
        c.low = g.low + o;
        c.high = g.high + o;
        c.floor = g.floor + own(d, s);
        c.policy = g.policy + o;
        c.least = g.least + o;
        c.most = g.most + o;
        c.moved = g.moved + o;
        c.info = g.info + (TEAM ? d * g.groups * g.parts + blockIdx.x : d * g.states + s) * 4;
        c.row = list;
        c.from = list + g.points;
        c.found = list + 2 * g.points;
        c.head = list + 3 * g.points;
        c.count = list + 4 * g.points;
        c.value = g.values + o;
        c.best = g.best + lists * g.points;
        c.eta = g.eta;
        c.points = (int)g.points;
        c.base = c.info[BASE];
        c.begin = begin;
        c.end = end;
        c.free = g.negative != 0;
        c.falls = c.info[FALLS] != 0;
        c.flat = g.flat[d * g.states + s] != 0;
        c.team = &team;
        return c;
    }

    // Cache the utilities of choices: of forced ones once, of all before policy evaluation.
    __device__ __forceinline__ void keep(int d, int s, int costs) const {
        const Column c = column(d, s, costs);
        for (int x = begin + threadIdx.x; x < end; x += THREADS) {
            int i = c.policy[x];
            if (b.kind[d] == FORCED) {
                i = c.low[x];
                if (!c.free && !(c.cost[i] < c.wealth[x])) i = -1;
                c.policy[x] = i;
            }
            g.chosen_utility[at(d, s) + x] = i >= 0 ? utility(c.wealth[x] - c.cost[i], c.eta) : -INFINITE;
        }
    }

    // The value of an alternative: found by a search or, if `fixed` (policy evaluation), that of the fixed choice.
    __device__ __forceinline__ double value_of(int d, int s, int x, bool fixed) const {
        const long long o = at(d, s) + x;
        if (b.kind[d] == TABLE) return g.wealth[o];
        if (b.kind[d] == SEARCHED && !fixed) return g.values[o];
        const int i = b.kind[d] == FORCED ? g.low[o] : g.policy[o];
        return i >= 0 ? g.chosen_utility[o] + future(d, s)[i] : -INFINITE;
    }

    // Compute the value of each regime, the maximum or the log-sum of its alternatives, and the averages over regimes for
    // alternatives that lead to several.
    __device__ __forceinline__ void aggregate(int s, int input, int output, bool fixed, double& change, unsigned& marks) {
        for (int x = begin + threadIdx.x; x < end; x += THREADS) {
            double seen[REGIMES];
            for (int r = 0; r < g.regimes; r++) {
                double best = -INFINITE;
                int which = -1;
                for (int d = 0; d < g.count; d++) {
                    if (b.regime[d] != r) continue;
                    const double v = value_of(d, s, x, fixed);
                    if (which < 0 || v > best) {
                        best = v;
                        which = d;
                    }
                }
                if (g.sigma > 0.0) {
                    double total = 0.0;
                    const bool finite = fabs(best) < INFINITE;
                    for (int d = 0; d < g.count; d++) {
                        if (b.regime[d] != r) continue;
                        const double weight = finite ? exp((value_of(d, s, x, fixed) - best) / g.sigma) : 0.0;
                        g.chances[at(d, s) + x] = weight;
                        total += weight;
                    }
                    if (finite) {
                        for (int d = 0; d < g.count; d++)
                            if (b.regime[d] == r) g.chances[at(d, s) + x] /= total;
                        best += g.sigma * log(total);
                    }
                }
                V(output, r, s)[x] = seen[r] = best;
                if (!fixed) {
                    change = fmax(change, fabs(best - __ldcg(V(input, r, s) + x)));
                    if (!(fabs(best) < INFINITE)) marks |= BROKEN;
                    int* const choice = g.choice + (r * g.states + s) * g.points + x;
                    if (g.face && (*choice == g.defaults) != (which == g.defaults)) marks |= FLIPPED;
                    *choice = which;
                }
            }
            mix(s, x, seen);
        }
    }

    __device__ __forceinline__ void mix(int s, int x, const double* seen) const {
        for (int d = 0; d < g.count; d++) {
            if (b.leads_to[d] >= 0 || b.kind[d] == TABLE) continue;
            double mixed = 0.0;
            for (int r = 0; r < g.regimes; r++) {
                const double chance = g.mix[d * g.regimes + r];
                if (chance != 0.0) mixed += chance * seen[r];
            }
            g.mixed[at(d, s) + x] = mixed;
        }
    }

    // Compute what does not change from sweep to sweep.
    __device__ __forceinline__ void prepare(int input, int costs) {
        for (int s = group; s < g.states; s += (int)g.groups) {
            for (int x = begin + threadIdx.x; x < end; x += THREADS) {
                double seen[REGIMES];
                for (int r = 0; r < g.regimes; r++) seen[r] = V(input, r, s)[x];
                mix(s, x, seen);
            }
            for (int d = 0; d < g.count; d++)
                if (b.kind[d] == FORCED) keep(d, s, costs);
        }
        meet(b, all, 0);
    }

    __device__ __forceinline__ Report sweep(int input, int output, int costs, bool fresh, bool moved, bool cold, int& stamp) {
        expect_all(input);
        double change = 0.0;
        unsigned marks = 0;
        int full = 0;
        for (int s = group; s < g.states; s += (int)g.groups) {
            for (int d = 0; d < g.count; d++) {
                if (b.kind[d] != SEARCHED) continue;
                Column c = column(d, s, costs);
                full += search(b, c, fresh || (moved && d == g.repay), cold, stamp, work);
            }
            __syncthreads();
            aggregate(s, input, output, false, change, marks);
        }
        return meet(b, all, marks, true, change, part == 0 ? full : 0);
    }

    // Policy evaluation if there is only one alternative; replaces `aggregate`.
    __device__ __forceinline__ void evaluate_alone(int s, int from, int to) const {
        const int* const policy = g.policy + at(0, s);
        const double* const chosen_utility = g.chosen_utility + at(0, s);
        double* const value = V(to, 0, s);
        for (int first = begin + (int)threadIdx.x; first < end; first += TOGETHER * THREADS) {
            double found[TOGETHER];
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                const int x = min(first + k * THREADS, end - 1), i = policy[x];
                found[k] = i >= 0 ? chosen_utility[x] + expect(0, s, i, from) : -INFINITE;
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++)
                if (first + k * THREADS < end) value[first + k * THREADS] = found[k];
        }
    }

    // After a policy evaluation step from `from` to `to`, add what all further steps would add on average.
    __device__ __forceinline__ void shift(int from, int to) {
        double rise = -INFINITE, fall = -INFINITE;
        for (int r = 0; r < g.regimes; r++)
            for (int s = group; s < g.states; s += (int)g.groups)
                for (int x = begin + threadIdx.x; x < end; x += THREADS) {
                    const double change = V(to, r, s)[x] - __ldcg(V(from, r, s) + x);
                    rise = fmax(rise, change);
                    fall = fmax(fall, -change);
                }
        const double up = meet(b, all, 0, true, rise).number, down = meet(b, all, 0, true, fall).number;
        const double by = g.shift * 0.5 * (up - down);
        if (!(fabs(by) < INFINITE)) return;
        for (int r = 0; r < g.regimes; r++)
            for (int s = group; s < g.states; s += (int)g.groups)
                for (int x = begin + threadIdx.x; x < end; x += THREADS) V(to, r, s)[x] += by;
        wait(all);
    }

    // Policy evaluation steps, starting from buffer `from`; returns the buffer of the last.
    __device__ __forceinline__ int evaluate_policy(int from, int other, int costs, int steps) {
        double none = 0.0;
        unsigned marks = 0;
        for (int s = group; s < g.states; s += (int)g.groups)
            for (int d = 0; d < g.count; d++)
                if (b.kind[d] == SEARCHED) keep(d, s, costs);
        // With one alternative, only the expectations of its choices are needed.
        const bool alone = g.count == 1 && b.kind[0] == SEARCHED && b.leads_to[0] >= 0 && g.sigma == 0.0;
        for (int step = 0; step < steps; step++) {
            if (!alone) expect_all(from);
            for (int s = group; s < g.states; s += (int)g.groups) {
                if (alone)
                    evaluate_alone(s, from, other);
                else
                    aggregate(s, -1, other, true, none, marks);
            }
            wait(all);
            const int swap = from;
            from = other;
            other = swap;
        }
        if (steps && g.shift != 0.0) shift(other, from);
        return from;
    }

    // Compute prices at which lenders break even, and the costs of choices at these prices; returns the largest change of a
    // price. Blocks that share an exogenous state each compute all of them.
    __device__ __forceinline__ double reprice(int costs, bool first) {
        double change = 0.0;
        const int regime = b.regime[g.defaults], states = (int)g.states;
        for (int s = group; s < g.states; s += (int)g.groups) {
            const double* const chances = g.transition + (g.repay * g.states + s) * g.states;
            for (int i = threadIdx.x; i < g.points; i += THREADS) {
                const int* const choice = g.choice + regime * g.states * g.points + i;
                double lost = 0.0;
                for (int t = 0; t < states; t += AHEAD) {
                    int found[AHEAD];
#pragma unroll
                    for (int k = 0; k < AHEAD; k++) found[k] = __ldcg(choice + min(t + k, states - 1) * g.points);
#pragma unroll
                    for (int k = 0; k < AHEAD; k++) {
                        const double chance = __ldg(chances + min(t + k, states - 1));
                        lost += t + k < states && found[k] == g.defaults ? chance : 0.0;
                    }
                }
                const double price = fmax(1.0 - lost, 0.0) / g.gross;
                double* const old = g.prices + own(0, s) + i;
                change = fmax(change, fabs(price - *old));
                *old = price;
                priced(costs ^ 1, s)[i] = price * g.face[i];
            }
        }
        const double moved = meet(b, all, 0, true, change).number;
        return first ? INFINITE : moved;
    }

    // Write values and choices of alternatives without a search, for the host.
    __device__ __forceinline__ void complete(int s) const {
        for (int d = 0; d < g.count; d++) {
            if (b.kind[d] == SEARCHED) continue;
            for (int x = begin + threadIdx.x; x < end; x += THREADS) {
                const double v = value_of(d, s, x, false);
                g.values[at(d, s) + x] = v;
                g.policy[at(d, s) + x] = b.kind[d] == FORCED && v > -INFINITE ? g.low[at(d, s) + x] : -1;
            }
        }
    }

    // Bound the distance of the values of the last sweep from the same sweep in exact arithmetic.
    __device__ __forceinline__ double slack(int input, int output, int costs) {
        double largest = 0.0;
        for (int s = group; s < g.states; s += (int)g.groups)
            for (int r = 0; r < g.regimes; r++)
                for (int x = begin + threadIdx.x; x < end; x += THREADS)
                    largest = fmax(largest, fabs(__ldcg(V(input, r, s) + x)));
        largest = meet(b, all, 0, true, largest).number;
        double worst = 0.0;
        Link* const links = (Link*)(g.reports + 8 * gridDim.x + 8 * group * g.parts);
        const double unit = 1.1102230246251565e-16;
        for (int s = group; s < g.states; s += (int)g.groups) {
            for (int d = 0; d < g.count; d++) {
                double* const room = g.slack + at(d, s);
                if (b.kind[d] == TABLE) {
                    for (int x = begin + threadIdx.x; x < end; x += THREADS) room[x] = 0.0;
                    continue;
                }
                const double terms = (g.states + g.regimes + 6) * g.beta[d * g.states + s] * largest +
                                     2.0 * fabs(g.kappa[d * g.states + s]);
                const double noise = 1.001 * unit * (terms + (g.eta == 1.0 ? 1.0 : 0.0));
                const Column c = column(d, s, costs);
                // A forced choice has the rounding error of a single objective, as after a full search.
                doubt(b, c, b.kind[d] == FORCED || c.info[DIRTY], noise, links, room);
            }
            __syncthreads();
            for (int x = begin + threadIdx.x; x < end; x += THREADS)
                for (int r = 0; r < g.regimes; r++) worst = fmax(worst, unsure(s, r, x, output));
        }
        return meet(b, all, 0, true, worst).number;
    }

    // As `_regime_slack` of `gpu_ref/general/sweep.py`, in one state.
    __device__ __forceinline__ double unsure(int s, int r, int x, int output) const {
        const double value = __ldcg(V(output, r, s) + x), unit = 1.1102230246251565e-16;
        if (!(fabs(value) < INFINITE)) return 0.0;
        double above = -INFINITE, below = -INFINITE, top = -INFINITE;
        for (int d = 0; d < g.count; d++) {
            if (b.regime[d] != r) continue;
            const double v = __ldcg(g.values + at(d, s) + x), doubt = g.slack[at(d, s) + x];
            above = fmax(above, v + doubt);
            below = fmax(below, v - doubt);
            top = fmax(top, v);
        }
        if (g.sigma > 0.0) {  // `gpu_ref/general/log_sum.py`
            double grown = 0.0, total = 0.0;
            for (int d = 0; d < g.count; d++) {
                if (b.regime[d] != r) continue;
                const double under = __ldcg(g.values + at(d, s) + x) - top, doubt = g.slack[at(d, s) + x];
                const double weight = exp(under / g.sigma);
                total += weight;
                if (under > -INFINITE)
                    grown += doubt <= g.sigma ? weight * expm1(doubt / g.sigma)
                                              : exp((under + (1.0 + 1e-9) * doubt) / g.sigma) - weight;
            }
            const double reach = grown < INFINITE ? g.sigma * log1p(grown / total) : above - top + g.sigma * log((double)g.count);
            return 1.001 * reach + unit * (4.0 * fabs(value) + g.sigma * (16.0 + 8.0 * g.count));
        }
        return fmax(above - value, value - below) + unit * 4.0 * fabs(value);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) general(const __grid_constant__ General g) {
    __shared__ Block b;
    const int group = (int)(blockIdx.x / g.parts), part = (int)(blockIdx.x % g.parts);
    Meeting all = {g.flags, g.reports, (int)gridDim.x, (int)blockIdx.x, 0};
    Meeting team = {g.flags + 2 * gridDim.x + 2 * group * g.parts, g.reports + 4 * gridDim.x + 4 * group * g.parts, (int)g.parts, part, 0};
    const int span = (int)((g.points + g.parts - 1) / g.parts);
    if (threadIdx.x < 2) b.pieces[threadIdx.x] = b.several[threadIdx.x] = b.changed[threadIdx.x] = 0;
    b.fault = 0;
    if (threadIdx.x < g.count) {
        const int d = threadIdx.x, s = (int)(blockIdx.x / g.parts);
        b.kind[d] = g.kind[d];
        b.regime[d] = g.regime[d];
        b.leads_to[d] = g.leads_to[d];
        int before = 0;
        for (int other = 0; other < d; other++) {
            const int* const ends = g.reach + (other * g.states + s) * 2;
            before += ends[1] - ends[0] + 1;
        }
        b.from[d] = before - g.reach[(d * g.states + s) * 2];
    }
    __syncthreads();
    Work w = {g, b, all, team, group, part, min((int)g.points, part * span), min((int)g.points, (part + 1) * span), 0};
    const double* const was = g.state;
    int sweeps = (int)was[SWEEPS], moves = (int)was[MOVES], input = (int)was[INPUT], costs = (int)was[COSTS];
    bool first = was[PRICED] == 0.0, cold = g.cold, fresh = true, moved = false;
    const int begun = sweeps;
    int steps = moves > g.patience ? 0 : (int)g.steps, status = RUNNING, stamp = 0, output = 0;
    double change = 0.0, price_change = 0.0;
    Report last = {0.0, 0, 0};
    int next = costs;
    w.prepare(input, costs);
    while (true) {
        costs = next;
        output = (input + 1) % 3;
        last = w.sweep(input, output, costs, fresh, moved, cold, stamp);
        fresh = cold = false;
        sweeps++;
        change = last.number;
        u64* const work = g.evaluations + sweeps - 1 - begun;
        const unsigned of_warp = __reduce_add_sync(0xffffffffu, w.work);
        if (threadIdx.x % 32 == 0 && of_warp) atomicAdd(work, (u64)of_warp);
        w.work = 0;
        moved = false;
        price_change = 0.0;
        if (last.marks & BROKEN) {
            status = NOT_FINITE;
            break;
        }
        if (g.face && (first || (last.marks & FLIPPED))) {
            price_change = w.reprice(costs, first);
            next = costs ^ 1;
            first = false;
            moved = true;
        }
        if (change < g.tol && (!g.face || price_change < g.tol)) {
            status = CONVERGED;
            break;
        }
        if (sweeps >= g.most_sweeps) {
            status = LIMIT;
            break;
        }
        moves += price_change >= g.tol;
        if (moves > g.patience) steps = 0;
        const int evaluations = price_change < g.tol ? steps : min(steps, (int)g.moving_steps);
        input = evaluations ? w.evaluate_policy(output, (output + 1) % 3, costs, evaluations) : output;
        if (sweeps - begun >= g.chunk) break;
    }
    double slack = INFINITE;
    if (status != RUNNING) {
        for (int s = group; s < g.states; s += (int)g.groups) w.complete(s);
        if (status != NOT_FINITE) slack = w.slack(input, output, costs);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        double* const state = g.state;
        state[STATUS] = status;
        state[SWEEPS] = sweeps;
        state[CHANGE] = change;
        state[PRICE_CHANGE] = price_change;
        state[MOVES] = moves;
        state[INPUT] = input;
        state[OUTPUT] = output;
        state[COSTS] = status == RUNNING ? next : costs;
        state[PRICED] = !first;
        state[SLACK] = slack;
        state[FULLY] = last.count;
    }
}
