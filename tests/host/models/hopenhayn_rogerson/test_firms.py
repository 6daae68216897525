"""The distribution of firms, compared with a loop over periods."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.host.models.hopenhayn_rogerson.firms import ahead, stationary, survival

Array = NDArray[np.float64]


def carried(policy: Array, stays: Array, produces: Array, chain: Array, entry: Array, periods: int) -> Array:
    """Return the mass of firms after some periods, by a loop over the entries of the tables."""
    mass = np.zeros(policy.shape)
    for _ in range(periods):
        following = np.zeros_like(mass)
        for (n, z), there in np.ndenumerate(mass):
            for following_z, chance in enumerate(chain[z]):
                chosen = policy[n, z]
                following[chosen, following_z] += there * stays[n, z] * chance * produces[chosen, following_z]
        following[0] += entry
        mass = following
    return mass


@pytest.mark.parametrize("seed", range(8))
def test_the_distribution_is_the_limit_of_iteration(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, states = 7, 3
    policy = random.integers(0, points, (points, states)).astype(np.int32)
    stays, produces = random.random((2, points, states)) < 0.7
    chain = random.dirichlet(np.ones(states), states)
    entry = random.dirichlet(np.ones(states))
    found = stationary(policy, stays, produces, chain, entry)
    wanted = carried(policy, stays, produces, chain, entry, 600)
    assert found is not None
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert found.sum() > 1.0
    assert ahead(found, policy, stays, produces, chain, entry) == pytest.approx(found, abs=1e-12)
    # Exit equals entry.
    leaves = 1.0 - survival(policy, stays, produces, chain)
    assert (found * leaves).sum() == pytest.approx(1.0, rel=1e-12)


def test_there_is_none_where_some_firms_never_exit() -> None:
    policy = np.array([[1, 2], [1, 1], [2, 2]], np.int32)
    produces = np.ones((3, 2), bool)
    chain, entry = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1.0, 0.0])
    stays = np.array([[True, True], [True, True], [True, False]])
    assert stationary(policy, stays, produces, chain, entry) is None
    stays[1, 1] = False
    found = stationary(policy, stays, produces, chain, entry)
    assert found is not None
    # After the first period no firm has size 0, and entrants draw the first state: size 2 is not reached.
    assert found[2].tolist() == [0.0, 0.0]
    assert found[0].tolist() == [1.0, 0.0]
    # After the first period 0.9 are in the first state; the mass of size 1 there solves x = 0.9 + 0.9 x.
    assert found[1] == pytest.approx([9.0, 0.1 + 0.1 * 9.0], rel=1e-12)
