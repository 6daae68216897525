"""The passes of a sweep in software, one at a time, against Python's integers."""

from __future__ import annotations

import numpy as np

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point, shift_weights
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.objective import INFEASIBLE
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.software_passes import _search, add_all, check_all, limits_of, whole_grid
from support.machines import begun
from support.ties import searches


def test_check_keeps_the_lowest_best() -> None:
    rng = np.random.default_rng(1)
    points, states = 400, 2
    choices = rng.integers(1, points - 1, (points, states))
    cached = rng.integers(-2, 3, (points, states, 3))
    cached[rng.random(cached.shape) < 0.2] = INFEASIBLE
    ev = rng.integers(-2, 3, (points, states))
    value, searched = np.zeros((points, states), np.int64), np.zeros((points, states), np.bool_)
    unchecked, flags = np.zeros(1, np.bool_), np.zeros(points, np.uint8)
    check_all(choices, cached, ev, value, searched, unchecked, 20, False, flags)
    ties = 0
    for (i, s), j in np.ndenumerate(choices):
        objectives = [
            None if u == INFEASIBLE else int(u) + int(ev[j + k, s])
            for k, u in zip((-1, 0, 1), cached[i, s], strict=True)
        ]
        able = [o for o in objectives if o is not None]
        stays = objectives[1] is not None and objectives.index(max(able)) == 1
        assert searched[i, s] == (not stays), objectives
        assert not stays or value[i, s] == objectives[1]
        ties += able.count(max(able, default=0)) > 1
    assert ties > 50
    assert not flags.any()


def test_local_searches_end_on_the_lowest_best() -> None:
    """Local searches end on the lowest best candidate from any start and from either side."""
    ties = 0
    for seed in range(4):
        for one in searches(seed):
            log = np.zeros(0, np.int32)
            for guess in range(one.x.size):
                of_state = one.wealth, one.x, one.ev, one.state, one.constants.words
                found = _search(*of_state, limits_of(whole_grid(*one.ev.shape), 0), guess, log, 0)
                assert found[0] == one.lowest, (seed, guess)
            ties += one.tied
    assert ties > 20


def test_shifts_stay_in_range() -> None:
    values = np.array([[0, 0], [MAXIMUM - 5, MINIMUM + 5], [MAXIMUM - 4, 0], [0, MINIMUM + 4], [MINIMUM, MAXIMUM]])
    flags = np.zeros(5, np.uint8)
    add_all(values, np.array([5, -5]), flags)
    ends = [MAXIMUM, MINIMUM]
    assert values.tolist() == [[5, -5], ends, [MAXIMUM, -5], [5, MINIMUM], [MINIMUM + 5, MAXIMUM - 5]]
    assert flags.astype(bool).tolist() == [False, False, True, True, False]


def test_only_a_plain_sweep_ends_a_run_with_shifts() -> None:
    """A sweep from shifted values whose norm is below epsilon does not end the run; a plain sweep follows it."""
    image = fixed_point(rbc(grid=64, states=3), 1e-8)
    machine = begun(SweepSoftwareMachine(SweepParameters(64, 3, 4)), image)
    machine.shift_weights[:] = 0
    machine.shift_weights.reshape(3, 3)[:] = shift_weights(image.transition)
    machine.v[: image.start.size] = image.start.ravel()
    machine.start(64, 3, Mode.SHIFT, 10_000, image.epsilon, image.constants)
    norms = []
    ended = False
    while not ended:
        ended = machine.step()
        norms.append(machine.norm)
    assert machine.status == Status.DONE | Status.CONVERGED | Status.PROVEN
    assert [norm < image.epsilon for norm in norms[-3:]] == [False, True, True]
