// Value function iteration in double precision, a whole solve in one launch. `gpu_ref/cuda/kernels.py` compiles this file
// after `common.cu` and `sweeps_search.cu`.
//
// A *team* of `blocks` co-resident thread blocks solves one problem after another. A thread owns whole grid points with all
// their N_z states, so the expectation of its values is local. Threads exchange only the table of discounted expectations,
// which has two buffers and is written and read through the second-level cache, with one barrier of the team per sweep. The
// barrier also carries the vote "one of my values still changes", so that the convergence test costs nothing.
//
// Compiled with -fmad=false: products and sums round as they do in the reference solvers, so the bits are theirs too
// (for eta = 2; power and logarithm may differ from the C library's in the last place).
//
// Macros, all set by the host:
//   NZ        exogenous states
//   POINTS    largest number of grid points of a thread
//   THREADS   threads of a block
//   BLOCKS    blocks that a multiprocessor holds at once
//   RULE      stopping rule: 0 `change`, 1 `spans` (gpu_ref/methods.py)
//   RESERVE   1 if shared memory holds the utilities two choices away
//
// With rule `spans` and `paths`, policies are evaluated along their paths between sweeps (`gpu_ref/paths.py` has the
// equations). A path is followed by pointer doubling: (r, g, a) becomes (r + a r[g], g[g], a a), and after a few rounds
// V = r + a V[g], with the value V before the pass at the end of what was followed. The value of a policy has wiggles:
// once a sweep has not halved the change, or nothing is known of the policy, sweeps in which a single peak is in doubt are
// by divide and conquer (`gpu_ref/exact.py` has its proof). After the rule is met, the solve goes on as
// ValueIteration.iterate does, until no choice moves and values change by rounding only.

constexpr int MEASURES = 2 * NZ + 2;  // entries of `extreme`: for each state the largest rise and fall; then these two
constexpr int MOVED = 2 * NZ, SIZE = 2 * NZ + 1;  // threads of a block that moved a choice, at most; the largest |value|
constexpr double EVALUATED = 0.1;     // A policy is evaluated until this share of the last change is left,
constexpr int PASSES = 15;            // in at most this number of passes.
constexpr double SHRINKS = 0.5;       // Teams of several blocks do so if a pass leaves at most this share of the error.
constexpr double FOLLOWED = 0.01;     // A path is followed until the rest has this weight.
constexpr int FINISHING = 2, ALWAYS = 12, STALLED = 20;  // as in `gpu_ref/value_iteration.py`
constexpr double ROUNDING = 8.8817841970012523e-16;  // the same

// points: N_k. span: points of a block. blocks: of a team. count: number of problems. limit: largest number of sweeps.
// words: 32 per team, zero. expectations: two tables (NZ, N_k + 2) per team, with guards that are zero. parts: two tables
// (blocks, MEASURES) per team. guessed: whether the search starts from the contents of `policy`. near: whether a team is one
// block whose expectations are in shared memory. paths: whether policies are evaluated.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sweeps(const Problem* problems, int points, int span, int blocks, int count, int limit, u64* words,
           double* expectations, double* parts, int guessed, int near, int paths) {
    extern __shared__ __align__(16) double shared[];
    double* const q = shared;                            // NZ * NZ
    double* const reduced = q + ((NZ * NZ + 1) & ~1);    // WARPS * MEASURES
    double* const extreme = reduced + WARPS * MEASURES;  // MEASURES
    double* const system = extreme + MEASURES;           // NZ * (NZ + 1)
    // Utilities two choices below and above the policy: (2, POINTS, NZ, THREADS).
    double* const reserve = system + NZ * (NZ + 1) + threadIdx.x;
    constexpr int above = POINTS * NZ * THREADS;
    constexpr int reserved = RESERVE ? 2 * above : 0;

    const int team_number = blockIdx.x / blocks;
    const int teams = gridDim.x / blocks;
    const int rank = blockIdx.x % blocks;
    const int thread = threadIdx.x;
    const int N = points;
    const size_t stride = N + 2;  // a guard at each end, so that a choice's neighbours can be read without a test
    const size_t table = NZ * stride;

    Team team;
    team.words = words + 32 * (size_t)team_number;
    team.blocks = blocks;
    team.met = 0;
    team.votes[0] = team.votes[1] = 0;
    double* const close = system + NZ * (NZ + 1) + reserved;  // two tables (NZ, N_k + 2) where `near`
    double* const buffers = near ? close : expectations + 2 * table * team_number;
    if (near)
        for (int i = thread; i < 2 * NZ; i += THREADS) {
            close[i * stride] = 0.0;
            close[i * stride + N + 1] = 0.0;
        }
    double* const part = parts + (size_t)team_number * 2 * blocks * MEASURES;

    const int first = rank * span;
    const int last = min(N, first + span);

    for (int number = team_number; number < count; number += teams) {
        const Problem problem = problems[number];
        const double* const X = problem.X;
        const double eta = problem.eta, beta = problem.beta, epsilon = problem.epsilon;

        double value[POINTS][NZ], before[POINTS][NZ];
        double u_low[POINTS][NZ], u_own[POINTS][NZ], u_high[POINTS][NZ];
        int policy[POINTS][NZ];

        __syncthreads();
        for (int i = thread; i < NZ * NZ; i += THREADS) q[i] = problem.Q[i];
        __syncthreads();

        auto publish = [&](double* out) {
#pragma unroll unrolled_points
            for (int j = 0; j < POINTS; j++) {
                const int x = first + j * THREADS + thread;
                if (x < last) {
#pragma unroll unrolled_states
                    for (int s = 0; s < NZ; s++) {
                        double total = 0.0;
#pragma unroll unrolled_states
                        for (int t = 0; t < NZ; t++) {
                            // A state of probability zero may have a value of -inf.
                            const double chance = q[s * NZ + t];
                            if (__double_as_longlong(chance) != 0) total += chance * value[j][t];
                        }
                        out[s * stride + x + 1] = beta * total;
                    }
                }
            }
        };

#pragma unroll unrolled_points
        for (int j = 0; j < POINTS; j++) {
            const int x = first + j * THREADS + thread;
            if (x < last) {
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) {
                    value[j][s] = problem.V0[(size_t)x * NZ + s];
                    before[j][s] = value[j][s];
                    policy[j][s] = guessed ? problem.policy[(size_t)x * NZ + s] : N / 2;
                    u_own[j][s] = u_low[j][s] = u_high[j][s] = -INFINITE;
                }
            }
        }
        publish(buffers);
        meet(team, false);

        unsigned stale = 0;  // bits of states whose utilities in reserve belong to another choice
        auto refill = [&]() {
#if RESERVE
            if (stale == 0) return;
#pragma unroll 1
            for (int i = 0; i < POINTS * NZ; i++) {
                if (!(stale >> i & 1)) continue;
                const double w = __ldg(problem.W + (size_t)(first + i / NZ * THREADS + thread) * NZ + i % NZ);
                int p = 0;
#pragma unroll
                for (int j = 0; j < POINTS; j++) {
#pragma unroll
                    for (int s = 0; s < NZ; s++)
                        if (i == j * NZ + s) p = policy[j][s];
                }
                reserve[i * THREADS] = utility_of(X, N, w, eta, p - 2);
                reserve[i * THREADS + above] = utility_of(X, N, w, eta, p + 2);
            }
            stale = 0;
#endif
        };

        // Whether a local search with the expectations `in` may miss a maximum somewhere: it is exact for single peaks.
        auto doubted = [&](const double* in) {
            bool doubt = false;
            for (int x = first + thread; x < last; x += THREADS)
                for (int s = 0; s < NZ; s++)
                    doubt |= doubtful(X, in + s * stride + 1, problem.W + (size_t)(N - 1) * NZ + s, eta, N, x);
            return meet(team, doubt);
        };
        int done = 0;
        double measured = INFINITE;
        bool converged = false, divided = false;
#if RULE != 0
        int next_check = 1, last_check = 0, turn = 0, end = limit, stalled = 0;
        int rounds = 0, passes = 1, passed = 0, exact = 0;
        double last_measured = INFINITE, last_moved = INFINITE;
        bool met = false, evaluating = paths, suspect = !guessed;
        if (evaluating) {
            double own = 0.0, rho = 0.0;
            for (int s = 0; s < NZ; s++) {
                const double a = beta * q[s * NZ + s];
                own = fmax(own, a);
                rho = fmax(rho, (beta - a) / (1.0 - a));
            }
            for (; own > FOLLOWED && rounds < 20; own *= own) rounds++;
            // The value of a policy is up to 1 / (1 - beta) times the change of the last sweep away.
            for (double left = rho; left > EVALUATED * (1.0 - beta) && passes < PASSES; left *= rho) passes++;
            evaluating = blocks == 1 || rho <= SHRINKS;
        }
        // Call act(j, s, place of the state in a table, place of choice 0 there) for each state of this thread.
        auto each = [&](auto act) {
#pragma unroll unrolled_points
            for (int j = 0; j < POINTS; j++) {
                const int x = first + j * THREADS + thread;
                if (x >= last) continue;
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) act(j, s, s * stride + x + 1, s * stride + 1);
            }
        };
        // Find the lowest maximiser of every state, -1 where all are minus infinity, into `chosen`, level by level. With rows
        // numbered from 1, a level has the odd multiples of `step`, each between the choices of the rows at that distance.
        auto divide = [&](const double* in, int* chosen) {
            for (int step = 1 << (31 - __clz(N)); step; step /= 2) {
                const int count = (N / step + 1) / 2 * NZ;
                // A warp for each row if there are few: its lanes share the candidates.
                const int lanes = count * 32 <= 4 * blocks * THREADS ? 32 : 1;
                const int lane = thread % lanes, workers = blocks * THREADS / lanes;
                for (int i = (rank * THREADS + thread) / lanes; i < count; i += workers) {
                    const int s = i % NZ, x = (2 * (i / NZ) + 1) * step - 1;
                    const double w = __ldg(problem.W + (size_t)x * NZ + s);
                    int* const row = chosen + s * stride;
                    const int low = x >= step ? max(row[x - step], 0) : 0;
                    const int high = x + step < N ? row[x + step] : N - 1;
                    double best;
                    const int index = best_between(X, in + s * stride + 1, w, eta, low, high, lane, lanes, &best);
                    if (lane == 0) row[x] = index;
                }
                meet(team, false);
            }
        };
        // Evaluate the policy in `count` passes. Both buffers are free, and `u_own` is the utility of the choices.
        auto evaluate = [&](int count) {
            double* const table_r = buffers;
            int* const table_g = (int*)(buffers + table);
            for (int pass = 0; pass < count; pass++) {
                auto& r = before;  // the next sweep writes it again
                double a[NZ];
                int g[POINTS][NZ];
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) a[s] = beta * q[s * NZ + s];
                each([&](int j, int s, size_t at, size_t) {
                    double total = 0.0;
#pragma unroll unrolled_states
                    for (int t = 0; t < NZ; t++)
                        if (t != s) total += q[s * NZ + t] * value[j][t];
                    table_r[at] = beta * total;
                });
                meet(team, false);
                each([&](int j, int s, size_t, size_t row) {
                    g[j][s] = policy[j][s];
                    r[j][s] = u_own[j][s] + table_r[row + g[j][s]];
                });
                meet(team, false);
                for (int round = 0; round < rounds; round++) {
                    each([&](int j, int s, size_t at, size_t) {
                        table_r[at] = r[j][s];
                        table_g[at] = g[j][s];
                    });
                    meet(team, false);
                    each([&](int j, int s, size_t, size_t row) {
                        const size_t to = row + g[j][s];
                        r[j][s] += a[s] * table_r[to];
                        g[j][s] = table_g[to];
                    });
#pragma unroll unrolled_states
                    for (int s = 0; s < NZ; s++) a[s] *= a[s];
                    meet(team, false);
                }
                each([&](int j, int s, size_t at, size_t) { table_r[at] = value[j][s]; });
                meet(team, false);
                each([&](int j, int s, size_t, size_t row) { value[j][s] = r[j][s] + a[s] * table_r[row + g[j][s]]; });
                meet(team, false);
            }
        };
#endif
        while (true) {
            const double* const in = buffers + (done & 1) * table;
            double* const out = buffers + ((done + 1) & 1) * table;
            bool moves = false;
#if RULE != 0
            const bool checking = evaluating || met || done + 1 == next_check || done + 1 == end;
            bool moved = false;
            double high_of[NZ], low_of[NZ], size_of = 0.0;
#pragma unroll unrolled_states
            for (int s = 0; s < NZ; s++) high_of[s] = low_of[s] = -INFINITE;
            divided = evaluating && suspect && doubted(in);
            if (divided) {
                int* const chosen = (int*)out;
                divide(in, chosen);
                exact++;
                each([&](int j, int s, size_t at, size_t) {
                    const int x = first + j * THREADS + thread, best = chosen[at - 1];
                    const double w = __ldg(problem.W + (size_t)x * NZ + s);
                    moved |= best != policy[j][s];
                    policy[j][s] = max(best, 0);
                    u_low[j][s] = best < 0 ? -INFINITE : utility_of(X, N, w, eta, best - 1);
                    u_own[j][s] = best < 0 ? -INFINITE : utility_of(X, N, w, eta, best);
                    u_high[j][s] = best < 0 ? -INFINITE : utility_of(X, N, w, eta, best + 1);
#if RESERVE
                    stale |= 1u << (j * NZ + s);
#endif
                });
                meet(team, false);
            }
#endif
#pragma unroll unrolled_points
            for (int j = 0; j < POINTS; j++) {
                const int x = first + j * THREADS + thread;
                if (x >= last) continue;
                double e_low[NZ], e_own[NZ], e_high[NZ];
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) {
                    const double* const e = in + s * stride + policy[j][s];
                    e_low[s] = e[0];
                    e_own[s] = e[1];
                    e_high[s] = e[2];
                }
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) {
                    const double* const future = in + s * stride + 1;
                    const size_t own_place = (size_t)x * NZ + s;
                    double own;
                    int& p = policy[j][s];
                    const int chosen = p;
                    bool far = done == 0 && !divided;
                    const double low = u_low[j][s] + e_low[s];
                    const double high = u_high[j][s] + e_high[s];
                    own = u_own[j][s] + e_own[s];
                    if (far || !(low < own && high <= own)) {
#if RESERVE
                        double* const spare = reserve + (j * NZ + s) * THREADS;
                        stale |= 1u << (j * NZ + s);
#else
                        const double w = __ldg(problem.W + own_place);
#endif
                        if (!far && high > own) {
                            u_low[j][s] = u_own[j][s];
                            u_own[j][s] = u_high[j][s];
                            own = high;
                            p++;
#if RESERVE
                            u_high[j][s] = spare[above];
#else
                            u_high[j][s] = utility_of(X, N, w, eta, p + 1);
#endif
                            far = u_high[j][s] + future[p + 1] > own;
                        } else if (!far && low >= own && low > -INFINITE) {
                            u_high[j][s] = u_own[j][s];
                            u_own[j][s] = u_low[j][s];
                            own = low;
                            p--;
#if RESERVE
                            u_low[j][s] = spare[0];
#else
                            u_low[j][s] = utility_of(X, N, w, eta, p - 1);
#endif
                            far = u_low[j][s] + future[p - 1] >= own && u_low[j][s] > -INFINITE;
                        }
                        if (far) {
#if RESERVE
                            const double w = __ldg(problem.W + own_place);
#endif
                            p = seek(X, future, N, w, eta, p);
                            u_low[j][s] = utility_of(X, N, w, eta, p - 1);
                            u_own[j][s] = utility_of(X, N, w, eta, p);
                            u_high[j][s] = utility_of(X, N, w, eta, p + 1);
                            own = u_own[j][s] + future[p];
                        }
                    }
                    const double old = value[j][s];
                    before[j][s] = old;
                    value[j][s] = own;
#if RULE == 0
                    // A value that stays -inf gives NaN here, which counts as unchanged.
                    moves |= fabs(own - old) >= epsilon;
#else
                    if (checking) {
                        const double change = own == old ? 0.0 : own - old;
                        high_of[s] = fmax(high_of[s], change);
                        low_of[s] = fmax(low_of[s], -change);
                        size_of = fmax(size_of, fabs(own));
                    }
                    moved |= p != chosen;
#endif
                }
            }
            publish(out);
            done++;
#if RULE == 0
            moves = arrive(team, moves);
            refill();
            moves = wait(team, moves);
            if (!moves || done == limit) {
                converged = !moves;
                break;
            }
#else
            if (!checking) {
                arrive(team, false);
                refill();
                wait(team, false);
                continue;
            }
            double* const mine = part + ((size_t)turn * blocks + rank) * MEASURES;
            double* const of_warp = reduced + (thread / 32) * MEASURES;
#pragma unroll unrolled_states
            for (int s = 0; s < NZ; s++) {
                const double high = largest_of_warp(high_of[s]), low = largest_of_warp(low_of[s]);
                if (thread % 32 == 0) {
                    of_warp[s] = high;
                    of_warp[NZ + s] = low;
                }
            }
            const double size = largest_of_warp(size_of);
            if (thread % 32 == 0) of_warp[SIZE] = size;
            const double movers = __syncthreads_count(moved);
            for (int i = thread; i < MEASURES; i += THREADS) {
                double most = i == MOVED ? movers : -INFINITE;
                if (i != MOVED)
                    for (int warp = 0; warp < WARPS; warp++) most = fmax(most, reduced[warp * MEASURES + i]);
                mine[i] = most;
            }
            arrive(team, false);
            refill();
            wait(team, false);
            const double* const all = part + (size_t)turn * blocks * MEASURES;
            for (int i = thread / 32; i < MEASURES; i += WARPS) {
                double most = -INFINITE;
                for (int block = thread % 32; block < blocks; block += 32) most = fmax(most, all[block * MEASURES + i]);
                most = largest_of_warp(most);
                if (thread % 32 == 0) extreme[i] = most;
            }
            __syncthreads();
            turn ^= 1;
            measured = 0.0;
            for (int s = 0; s < NZ; s++) measured = fmax(measured, (extreme[s] + extreme[NZ + s]) / 2);
            const double movers_of_all = extreme[MOVED], largest = extreme[SIZE];
            const bool halved = measured <= last_measured / 2, rounded = measured <= ROUNDING * largest;
            converged = measured < epsilon;
            if (met && !converged) {  // A local search had missed a maximum: the rule is to be met once more.
                met = false;
                suspect = true;
                end = limit;
            }
            bool over = done >= end;
            if (met) {
                over |= (rounded && movers_of_all == 0.0) || (!halved && movers_of_all >= last_moved);
            } else if (converged) {
                over |= !evaluating || done == 1 || (rounded && movers_of_all == 0.0);
                met = true;
                end = min(limit, done + max(done / FINISHING, ALWAYS));
            } else {
                suspect |= !halved;
                stalled = halved ? 0 : stalled + 1;
                over |= evaluating && rounded && stalled >= STALLED;
            }
            if (over) {
                // A last sweep that may have missed a maximum is followed by others.
                if (!evaluating || suspect || done >= limit || !doubted(in)) break;
                suspect = true;
                end = min(limit, done + ALWAYS + passes);
            }
            last_moved = movers_of_all;
            const int count = min(passes, end - done - 1);
            // No policy is evaluated if a state has no choice: a path may lead there.
            if (evaluating && count > 0 && largest < INFINITE) {
                evaluate(count);
                done += count;
                passed += count;
                publish(buffers + (done & 1) * table);
                meet(team, false);
            }
            // Measure again half-way to where the pace since the last measurement would reach epsilon. This takes only a
            // few measurements, and rarely runs past the sweep that could have ended the solve.
            int ahead = 1;
            if (measured < last_measured && last_measured < INFINITE && epsilon > 0.0) {
                const double pace = log(last_measured / measured) / (done - last_check);
                ahead = (int)fmin(32.0, fmax(1.0, 0.5 * log(measured / epsilon) / pace));
            }
            last_measured = measured;
            last_check = done;
            next_check = done + ahead;
            __syncthreads();
#endif
        }

        // The expectations that the last sweep read show whether its search was exact.
        const bool doubt = !divided && doubted(buffers + ((done - 1) & 1) * table);

#if RULE == 0
        {
            measured = 0.0;
#pragma unroll unrolled_points
            for (int j = 0; j < POINTS; j++) {
                const int x = first + j * THREADS + thread;
                if (x < last) {
#pragma unroll unrolled_states
                    for (int s = 0; s < NZ; s++)
                        if (value[j][s] != before[j][s]) measured = fmax(measured, fabs(value[j][s] - before[j][s]));
                }
            }
            const double largest = largest_of_warp(measured);
            if (thread % 32 == 0) reduced[thread / 32] = largest;
            __syncthreads();
            if (thread == 0) {
                double most = 0.0;
                for (int warp = 0; warp < WARPS; warp++) most = fmax(most, reduced[warp]);
                // The bits of doubles that are not negative are ordered as integers. The host cleared this word.
                atomicMax((u64*)(problem.outcome + 1), (u64)__double_as_longlong(most));
            }
        }
#else
        // Solve (I - beta Q) c = beta Q m by elimination; the matrix is diagonally dominant, so no pivoting is needed.
        {
            for (int i = thread; i < NZ * (NZ + 1); i += THREADS) {
                const int row = i / (NZ + 1), column = i % (NZ + 1);
                if (column < NZ) {
                    system[i] = (row == column ? 1.0 : 0.0) - beta * q[row * NZ + column];
                } else {
                    double total = 0.0;
                    for (int s = 0; s < NZ; s++) {
                        const double middle = (extreme[s] - extreme[NZ + s]) / 2;
                        total += beta * q[row * NZ + s] * middle;
                    }
                    system[i] = total;
                }
            }
            __syncthreads();
            for (int k = 0; k < NZ; k++) {
                const double pivot = system[k * (NZ + 1) + k];
                for (int i = thread; i < NZ * NZ; i += THREADS) {
                    const int row = i / NZ, column = k + 1 + i % NZ;
                    if (row != k && column <= NZ)
                        system[row * (NZ + 1) + column] -=
                            system[row * (NZ + 1) + k] / pivot * system[k * (NZ + 1) + column];
                }
                __syncthreads();
            }
        }
#endif

#pragma unroll unrolled_points
        for (int j = 0; j < POINTS; j++) {
            const int x = first + j * THREADS + thread;
            if (x < last) {
#pragma unroll unrolled_states
                for (int s = 0; s < NZ; s++) {
                    const size_t i = (size_t)x * NZ + s;
                    double v = value[j][s];
#if RULE != 0
                    v += system[s * (NZ + 1) + NZ] / system[s * (NZ + 1) + s];
#endif
                    problem.value[i] = v;
                    problem.policy[i] = value[j][s] == -INFINITE ? -1 : policy[j][s];
                    if (problem.previous) problem.previous[i] = before[j][s];
                }
            }
        }
        if (rank == 0 && thread == 0) {
            problem.outcome[0] = done;
#if RULE != 0
            problem.outcome[1] = measured;
#endif
            problem.outcome[2] = converged;
            problem.outcome[3] = doubt;
#if RULE != 0
            problem.outcome[8] = passed;
            problem.outcome[9] = exact;
#endif
        }
        // A barrier: no thread may write the next problem's expectations while the last ones are still read.
        if (number + teams < count) meet(team, false);
    }
}
