"""The stationary mass of a population that enters and leaves, compared with iteration and with a case by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from beltline.host.analysis.long_run import renewed


@pytest.mark.parametrize("seed", range(8))
def test_the_mass_is_the_limit_of_iteration(seed: int) -> None:
    random = np.random.default_rng(seed)
    step = 0.9 * random.dirichlet(np.ones(12), 12) * (random.random((12, 12)) < 0.4)
    entering = random.random(12) * (random.random(12) < 0.5)
    wanted = np.zeros(12)
    for _ in range(600):
        wanted = wanted @ step + entering
    found = renewed(csr_matrix(step), entering)
    assert found is not None
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    # What leaves equals what enters.
    assert found @ (1.0 - step.sum(axis=1)) == pytest.approx(entering.sum(), rel=1e-12)


def test_there_is_none_where_some_never_leave() -> None:
    entering = np.array([1.0, 0.0, 0.0, 0.0])
    step = np.array([[0.0, 0.9, 0.1, 0.0], [0.0, 0.9, 0.1, 0.0], [0.0, 0.2, 0.8, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert renewed(csr_matrix(step), entering) is None
    step[2] = 0.0
    # 0.9 come to the second state in the first period, and a tenth leaves in each: x = 0.9 + 0.9 x.
    assert renewed(csr_matrix(step), entering) == pytest.approx([1.0, 9.0, 0.1 + 0.1 * 9.0, 0.0], rel=1e-12)
