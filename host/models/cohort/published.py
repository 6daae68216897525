"""Published income and survival by age.

The income processes are those of Cocco, Gomes and Maenhout (2005), tables 1 to 4. The log of annual labour income, in
thousands of dollars of 1992, is a cubic polynomial of age up to 65, plus a permanent and a transitory shock; pensions
are a share of permanent income in the last year of work. The numbers are not taken from the paper but from two public
copies: ``HARK/Calibration/Income/IncomeTools.py`` of econ-ark/HARK for all three groups, and ``Main.m`` of
ruggerojapp/CGM-2005-RFS-Matlab-Octave, which has more digits for high school, and the survival probabilities. The two
agree in all digits that both have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError


@dataclass(frozen=True)
class IncomeProcess:
    """Labour income of people with the same education.

    ``cubic`` has the coefficients of log income, in thousands of dollars of 1992, on ``1``, ``age``, ``age**2`` and
    ``age**3``; ``permanent`` and ``transitory`` are variances of the annual shocks to it, and ``replacement`` the
    pension as a share of permanent income in the last year of work.
    """

    cubic: tuple[float, float, float, float]
    permanent: float
    transitory: float
    replacement: float

    def published(self, first: int, last: int) -> Array:
        """Return income without shocks at the ages from ``first`` to ``last``, in thousands of dollars of 1992."""
        youngest, oldest = PUBLISHED_AGES
        if first < youngest or last > oldest:
            raise ProblemError(
                f"published incomes cover ages {youngest} to {oldest}, but first = {first} and retirement = {last}: "
                f"pass income"
            )
        return np.exp(np.polynomial.polynomial.polyval(np.arange(first, last + 1.0), self.cubic))


EDUCATION = {
    "no high school": IncomeProcess((-2.1361 + 2.6275, 0.1684, -0.00353, 0.000023), 0.0105, 0.1056, 0.8898),
    "high school": IncomeProcess((-2.170042 + 2.700381, 0.16818, -0.00323371, 0.000019704), 0.0106, 0.0738, 0.68212),
    "college": IncomeProcess((-4.3148 + 2.3831, 0.3194, -0.00577, 0.000033), 0.0169, 0.0584, 0.9389),
}
"""Income processes by education."""

PUBLISHED_AGES = 20, 65
"""First and last age that the income processes cover."""

SURVIVAL_BEGINS = 20
"""Age of the first entry of :data:`SURVIVAL`."""

SURVIVAL = (
    0.99845, 0.99839, 0.99833, 0.9983, 0.99827, 0.99826, 0.99824, 0.9982, 0.99813, 0.99804,
    0.99795, 0.99785, 0.99776, 0.99766, 0.99755, 0.99743, 0.9973, 0.99718, 0.99707, 0.99696,
    0.99685, 0.99672, 0.99656, 0.99635, 0.9961, 0.99579, 0.99543, 0.99504, 0.99463, 0.9942,
    0.9937, 0.99311, 0.99245, 0.99172, 0.99091, 0.99005, 0.98911, 0.98803, 0.9868, 0.98545,
    0.98409, 0.9827, 0.98123, 0.97961, 0.97786, 0.97603, 0.97414, 0.97207, 0.9697, 0.96699,
    0.96393, 0.96055, 0.9569, 0.9531, 0.94921, 0.94508, 0.94057, 0.9357, 0.93031, 0.92424,
    0.91717, 0.90922, 0.90089, 0.89282, 0.88503, 0.87622, 0.86576, 0.8544, 0.8423, 0.82942,
    0.8154, 0.80002, 0.78404, 0.76842, 0.75382, 0.73996, 0.72464, 0.71057, 0.6961, 0.6809,
)  # fmt: skip
"""Probability of surviving to the next age, at each age from 20 to 99; 100 is the last age.

From ``survprob`` in the program of Cocco, Gomes and Maenhout, as copied in ruggerojapp/CGM-2005-RFS-Matlab-Octave. The
paper takes it from the National Center for Health Statistics.
"""


def life_table(first: int, last: int) -> tuple[float, ...]:
    """Return the probability of surviving to the next age at each age from ``first`` to below ``last``."""
    oldest = SURVIVAL_BEGINS + len(SURVIVAL)
    if first < SURVIVAL_BEGINS or last > oldest:
        raise ProblemError(
            f"the life table has ages from {SURVIVAL_BEGINS} to {oldest}, not from first = {first} to last = {last}: "
            f"pass survival"
        )
    return SURVIVAL[first - SURVIVAL_BEGINS : last - SURVIVAL_BEGINS]
