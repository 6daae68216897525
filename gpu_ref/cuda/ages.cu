// A finite horizon in double precision in one launch: one sweep per age; value and policy of every age are stored.
// `gpu_ref/cuda/kernels.py` compiles this file after `common.cu`, with -fmad=false, so that sums round as they do in the
// reference solvers.
//
// All blocks are one team. A block owns `span` grid points with all their exogenous states, and a thread takes every
// THREADS-th of these states. So the values of a block stay in its shared memory, and blocks exchange only discounted
// expectations, with one barrier per age. Few grid points per block and one thread per state keep the chain of dependent
// loads of a search short, which determines the time. Whether single peaks are in doubt is tested while a block waits for
// the others; three tables of expectations are used in turn, so that no block overwrites the one being tested.
//
// Macros: ETA as in common.cu; NZ exogenous states; THREADS of a block.

// points: N_k. span: points of a block. words: 32, zero. expectations: three tables (NZ, N_k). values, policies: (ages, N_k,
// NZ), the first age first. problem->V0 is the value after the last age; problem->outcome[3] is set to 1 if single peaks
// are in doubt at some age.
extern "C" __global__ void __launch_bounds__(THREADS)
    ages(const Problem* problems, int points, int span, int blocks, int count, u64* words, double* expectations,
         double* values, int* policies) {
    extern __shared__ __align__(16) double shared[];
    double* const q = shared;                       // NZ * NZ
    double* const value = q + ((NZ * NZ + 1) & ~1);  // NZ * span
    const Problem problem = problems[0];
    const double* const X = problem.X;
    const double eta = problem.eta, beta = problem.beta;
    const int N = points;
    const size_t table = (size_t)NZ * N;
    const int first = blockIdx.x * span;
    const int own = min(N, first + span) - first;

    Team team;
    team.words = words;
    team.blocks = blocks;
    team.met = 0;
    team.votes[0] = team.votes[1] = 0;

    for (int i = threadIdx.x; i < NZ * NZ; i += THREADS) q[i] = problem.Q[i];
    // The states of a block are stored with the grid point innermost, so that neighbouring threads search neighbours.
    for (int i = threadIdx.x; i < NZ * own; i += THREADS)
        value[i] = problem.V0[(size_t)(first + i % own) * NZ + i / own];
    __syncthreads();

    bool doubt = false;
    for (int done = 0; done <= count; done++) {
        double* const ev = expectations + (done % 3) * table;
        bool any = false;
        if (done < count) {
            for (int i = threadIdx.x; i < NZ * own; i += THREADS) {
                const int s = i / own, x = i % own;
                double total = 0.0;
                for (int t = 0; t < NZ; t++) {
                    // A state of probability zero may have a value of -inf.
                    const double chance = q[s * NZ + t];
                    if (__double_as_longlong(chance) != 0) total += chance * value[t * own + x];
                }
                ev[(size_t)s * N + first + x] = beta * total;
            }
            any = arrive(team, false);
        }
        if (done > 0) {
            const double* const last = expectations + ((done - 1) % 3) * table;
            for (int i = threadIdx.x; i < NZ * own; i += THREADS)
                doubt |= doubtful(
                    X, last + (size_t)(i / own) * N, problem.W + (size_t)(N - 1) * NZ + i / own, eta, N, first + i % own);
        }
        if (done == count) break;
        wait(team, any);

        const size_t age = (size_t)(count - 1 - done) * N * NZ;
        for (int i = threadIdx.x; i < NZ * own; i += THREADS) {
            const int s = i / own, x = first + i % own;
            const double* const future = ev + (size_t)s * N;
            const double wealth = problem.W[(size_t)x * NZ + s];
            // Find the lowest peak by bisection on whether the next choice is better.
            int low = 0, high = N - 1;
            while (low < high) {
                const int middle = (low + high) / 2;
                if (rises(X, future, wealth, eta, middle))
                    low = middle + 1;
                else
                    high = middle;
            }
            const double best = X[low] < wealth ? utility(wealth - X[low], eta) + future[low] : -INFINITE;
            value[i] = best;
            values[age + (size_t)x * NZ + s] = best;
            policies[age + (size_t)x * NZ + s] = best == -INFINITE ? -1 : low;
        }
        __syncthreads();
    }
    // The host cleared this word, and all blocks that write it write the same.
    if (__syncthreads_or(doubt) && threadIdx.x == 0) problem.outcome[3] = 1.0;
}
