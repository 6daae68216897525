// Starting values that the device computes itself: the solution on at most 128 of the grid points, with choices between
// them. The expectation is interpolated by cubics through four points, utility is computed exactly, and Newton's method
// follows the best choice, with policy evaluation between its steps. Compiled by
// `gpu_ref/cuda/kernels.py` after `common.cu`. The guarantee of a solve does not depend on its starting value, so the order
// of sums is free here. `given` says for each problem whether it brings its own V0. Macros: NZ, exogenous states; PER,
// coarse states of a thread.

__device__ __forceinline__ int row_of(int i, int stride, int points) { return min(i * stride, points - 1); }

// V0 = U(W - X) / (1 - beta), the value of staying at x for ever. The second dimension of the launch runs over problems.
extern "C" __global__ void stay(const Problem* problems, const int* given, int count, int points) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        if (given[number]) continue;
        const Problem a = problems[number];
        for (int s = 0; s < NZ; s++) {
            const size_t at = (size_t)i * NZ + s;
            a.V0[at] = utility(a.W[at] - a.X[i], a.eta) / (1.0 - a.beta);
        }
    }
}

// Solve the problem on every `stride`-th grid point, with continuous choices; one block per problem. `values` and `choices`
// are (problems, coarse, NZ); choices are given as places on the fine grid. The iteration ends below `below` times epsilon.
extern "C" __global__ void __launch_bounds__(512)
    smooth(const Problem* problems, const int* given, int points, int coarse, int stride, double below, int limit,
           int inner, double* values, double* choices) {
    if (given[blockIdx.x]) return;
    const Problem a = problems[blockIdx.x];
    const int size = coarse * NZ, thread = threadIdx.x, threads = blockDim.x;
    extern __shared__ double shared[];
    double* const x = shared;                      // coarse
    double* const inverse = x + coarse;            // 4 a cell: 1 / prod (x_j - x_k), k != j
    double* const q = inverse + 4 * (coarse - 3);  // NZ * NZ, discounted
    double* const spread = q + NZ * NZ;            // NZ
    double* const ahead = spread + NZ;             // (NZ, coarse)
    double* const value = ahead + size;            // (coarse, NZ)
    double* const change = value + size;           // (coarse, NZ)

    for (int i = thread; i < coarse; i += threads) x[i] = a.X[row_of(i, stride, points)];
    for (int i = thread; i < NZ * NZ; i += threads) q[i] = a.beta * a.Q[i];
    __syncthreads();
    for (int i = thread; i < 4 * (coarse - 3); i += threads) {
        double product = 1.0;
        for (int k = 0; k < 4; k++)
            if (k != i % 4) product *= x[i / 4 + i % 4] - x[i / 4 + k];
        inverse[i] = 1.0 / product;
    }
    // For the states of this thread: wealth, choice, the cell of the choice, and what a policy evaluation sweep needs: the
    // utility of the choice, and the weights of the four expectations around it.
    double wealth[PER], choice[PER], u[PER], weight[PER][4];
    int cell[PER];
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const int i = thread + k * threads;
        if (i >= size) break;
        wealth[k] = a.W[(size_t)row_of(i / NZ, stride, points) * NZ + i % NZ];
        choice[k] = x[i / NZ];
        cell[k] = max(0, min(i / NZ - 1, coarse - 4));
        u[k] = utility(wealth[k] - choice[k], a.eta);
        value[i] = u[k] / (1.0 - a.beta);
    }
    auto expect = [&]() {
        __syncthreads();
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const int i = thread + k * threads, s = i % NZ, r = i / NZ;
            if (i >= size) break;
            double total = 0.0;
#pragma unroll(NZ <= 16 ? NZ : 1)
            for (int t = 0; t < NZ; t++) total += q[s * NZ + t] * value[r * NZ + t];
            ahead[s * coarse + r] = total;
        }
        __syncthreads();
    };
    const double bottom = x[0], top = x[coarse - 1], small = (top - bottom) / (coarse - 1);
    double last = INFINITE;
    for (int done = 0; done < limit; done += 1 + inner) {
        expect();
#pragma unroll
        for (int k = 0; k < PER; k++) {
            const int i = thread + k * threads;
            if (i >= size) break;
            const double y = choice[k], c = wealth[k] - y;
            const double* e = ahead + i % NZ * coarse + cell[k];
            const double* n = inverse + 4 * cell[k];
            double d0 = y - x[cell[k]], d1 = y - x[cell[k] + 1], d2 = y - x[cell[k] + 2], d3 = y - x[cell[k] + 3];
            const double e0 = e[0] * n[0], e1 = e[1] * n[1], e2 = e[2] * n[2], e3 = e[3] * n[3];
            double d01 = d0 * d1, d23 = d2 * d3;
            const double s01 = d0 + d1, s23 = d2 + d3;
            const double future = (e0 * d1 + e1 * d0) * d23 + (e2 * d3 + e3 * d2) * d01;
            const double slope = e0 * (d23 + d1 * s23) + e1 * (d23 + d0 * s23) + e2 * (d01 + d3 * s01) +
                                 e3 * (d01 + d2 * s01);
            const double bend = 2.0 * (e0 * (d1 + s23) + e1 * (d0 + s23) + e2 * (d3 + s01) + e3 * (d2 + s01));
            // A Newton step towards the maximum of the objective that leaves at least a tenth of consumption, and its gain
            // to second order.
            const double marginal = a.eta == 1.0 ? 1.0 / c : (1.0 - a.eta) * u[k] / c;
            const double rise = slope - marginal, curve = bend - a.eta * marginal / c;
            double next = curve < 0.0 ? y - rise / curve : y;
            next = fmax(bottom, fmin(next, fmin(top, y + 0.9 * c)));
            const double step = next - y;
            double now = u[k] + future;
            if (fabs(step) < small) now += step * (rise + 0.5 * curve * step);
            change[i] = now - value[i];
            value[i] = now;

            choice[k] = next;
            u[k] = utility(wealth[k] - next, a.eta);
            while (cell[k] < coarse - 4 && next > x[cell[k] + 2]) cell[k]++;
            while (cell[k] > 0 && next < x[cell[k] + 1]) cell[k]--;
            n = inverse + 4 * cell[k];
            d0 = next - x[cell[k]];
            d1 = next - x[cell[k] + 1];
            d2 = next - x[cell[k] + 2];
            d3 = next - x[cell[k] + 3];
            d01 = d0 * d1;
            d23 = d2 * d3;
            weight[k][0] = n[0] * d1 * d23;
            weight[k][1] = n[1] * d0 * d23;
            weight[k][2] = n[2] * d3 * d01;
            weight[k][3] = n[3] * d2 * d01;
        }
        __syncthreads();
        for (int s = thread / 32; s < NZ; s += threads / 32) {
            double high = -INFINITE, low = -INFINITE;
            for (int i = thread % 32; i < coarse; i += 32) {
                high = fmax(high, change[i * NZ + s]);
                low = fmax(low, -change[i * NZ + s]);
            }
            high = largest_of_warp(high);
            low = largest_of_warp(low);
            if (thread % 32 == 0) spread[s] = (high + low) / 2;
        }
        __syncthreads();
        double measured = 0.0;
        for (int s = 0; s < NZ; s++) measured = fmax(measured, spread[s]);
        // Stop also if rounding keeps the change from shrinking.
        if (!(measured >= below * a.epsilon) || (done > limit / 16 && measured >= last)) break;
        last = measured;
        for (int evaluation = 0; evaluation < inner; evaluation++) {
            expect();
#pragma unroll
            for (int k = 0; k < PER; k++) {
                const int i = thread + k * threads;
                if (i >= size) break;
                const double* const e = ahead + i % NZ * coarse + cell[k];
                value[i] = u[k] + ((weight[k][0] * e[0] + weight[k][1] * e[1]) +
                                   (weight[k][2] * e[2] + weight[k][3] * e[3]));
            }
        }
    }
#pragma unroll
    for (int k = 0; k < PER; k++) {
        const int i = thread + k * threads;
        if (i >= size) break;
        const double y = choice[k];
        int low = 0, high = points - 1;
        while (low + 1 < high) {
            const int middle = (low + high) / 2;
            if (a.X[middle] <= y)
                low = middle;
            else
                high = middle;
        }
        const size_t at = (size_t)blockIdx.x * size + i;
        values[at] = value[i];
        choices[at] = low + (y - a.X[low]) / (a.X[high] - a.X[low]);
    }
}

// Interpolate over the fine grid: V0 by the cubic through the four coarse values around each point, the guess of the policy
// linearly between the choices of the two around it. The second dimension of the launch runs over problems.
extern "C" __global__ void draw(const Problem* problems, const int* given, int count, int points, int coarse, int stride,
                                const double* values, const double* choices) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    const int cell = min(i / stride, coarse - 2);
    const int first = max(0, min(cell - 1, coarse - 4));
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        const Problem a = problems[number];
        int* const policy = a.policy + (size_t)i * NZ;
        if (given[number]) {
            for (int s = 0; s < NZ; s++) policy[s] = points / 2;
            continue;
        }
        const double* const value = values + (size_t)number * coarse * NZ;
        const double* const choice = choices + (size_t)number * coarse * NZ;
        double x[4], weight[4];
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] = a.X[row_of(first + j, stride, points)];
        const double at = a.X[i];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            double up = 1.0, down = 1.0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (k != j) {
                    up *= at - x[k];
                    down *= x[j] - x[k];
                }
            weight[j] = up / down;
        }
        const double left = a.X[row_of(cell, stride, points)], right = a.X[row_of(cell + 1, stride, points)];
        const double share = (at - left) / (right - left);
        for (int s = 0; s < NZ; s++) {
            double total = 0.0;
#pragma unroll
            for (int j = 0; j < 4; j++) total += weight[j] * value[(first + j) * NZ + s];
            // If the coarse solve diverged, start from the value of staying.
            const double stay = utility(a.W[(size_t)i * NZ + s] - at, a.eta) / (1.0 - a.beta);
            a.V0[(size_t)i * NZ + s] = fabs(total) < INFINITE ? total : stay;
            const double from = choice[cell * NZ + s], to = choice[(cell + 1) * NZ + s];
            policy[s] = max(0, min((int)rint(from + share * (to - from)), points - 1));
        }
    }
}

// Mark in `bad` the problems with a V0 that no solution can be near. A solution is at least the value of staying at x for
// ever in the worst exogenous state, and at most that of consuming all of the largest wealth for ever. A V0 between these
// bounds, widened by `share` of their distance, may still be poor, but not worse than the value of staying by more.
extern "C" __global__ void judge(const Problem* problems, const int* given, int count, int points, double share, int* bad) {
    __shared__ double sums[NZ];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        if (given[number]) continue;
        const Problem a = problems[number];
        __syncthreads();
        for (int s = threadIdx.x; s < NZ; s += blockDim.x) {
            double sum = 0.0;
            for (int t = 0; t < NZ; t++) sum += a.Q[s * NZ + t];
            sums[s] = sum;
        }
        __syncthreads();
        double sum = 0.0, richest = -INFINITE;
        for (int s = 0; s < NZ; s++) {
            sum = fmax(sum, sums[s]);
            // Wealth does not fall in x.
            richest = fmax(richest, a.W[(size_t)(points - 1) * NZ + s]);
        }
        const double left = 1.0 - a.beta * sum;
        if (!(left > 0.0) || i >= points) continue;
        const size_t row = (size_t)i * NZ;
        double least = INFINITE;
        for (int s = 0; s < NZ; s++) least = fmin(least, utility(a.W[row + s] - a.X[i], a.eta));
        const double low = fmin(least, 0.0) / left, high = fmax(utility(richest - a.X[0], a.eta), 0.0) / left;
        const double slack = share * (high - low);
        bool near = true;
        for (int s = 0; s < NZ; s++) near &= a.V0[row + s] >= low - slack && a.V0[row + s] <= high + slack;
        if (!near) bad[number] = 1;
    }
}

// Replace the V0 of the problems in `bad` by the value of staying, and guesses of the policy by the middle of the grid.
extern "C" __global__ void redo(const Problem* problems, const int* bad, int count, int points) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points) return;
    for (int number = blockIdx.y; number < count; number += gridDim.y) {
        if (!bad[number]) continue;
        const Problem a = problems[number];
        for (int s = 0; s < NZ; s++) {
            const size_t at = (size_t)i * NZ + s;
            a.V0[at] = utility(a.W[at] - a.X[i], a.eta) / (1.0 - a.beta);
            a.policy[at] = points / 2;
        }
    }
}
