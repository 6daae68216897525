// The arguments of the kernel of `general.cu`: a problem of the general form. Compiled after `general_block.cu`.

enum { SEARCHED, FORCED, TABLE };
enum { RUNNING, CONVERGED, LIMIT, NOT_FINITE };

extern __shared__ double near[];  // expectations, where they fit

// Filled by `gpu_ref/cuda/general_sweeps.py`; shapes of tables as in `gpu_ref/general/packed.py`.
struct General {
    long long points, states, regimes, count, groups, parts;
    const int *kind, *regime, *leads_to, *reach, *low, *high;
    const unsigned char* flat;
    const double *wealth, *cost, *transition, *beta, *kappa, *mix;
    double *V, *mixed, *ev, *team_ev, *values, *chosen_utility, *floor, *chances, *slack, *best;
    int *policy, *choice, *least, *most, *moved, *list, *info;
    u64* evaluations;
    const double* face;
    double *prices, *priced;
    double *state, *reports;
    u64* flags;
    double eta, sigma, tol, gross, shift;
    long long negative, steps, most_sweeps, chunk, cold, repay, defaults;
    long long moving_steps, patience, near;
};

enum { STATUS, SWEEPS, CHANGE, PRICE_CHANGE, MOVES, INPUT, OUTPUT, COSTS, PRICED, SLACK, FULLY };  // of `state`

enum { FLIPPED = 1, BROKEN = 2 };  // marks of a sweep: the default set changed; a value is not finite
