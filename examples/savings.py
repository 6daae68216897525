"""Solve saving with uncertain income, the household of Aiyagari (1994): ``python examples/savings.py``."""

import numpy as np

import beltline as bl


def savings(
    grid: int = 1000, states: int = 5, beta: float = 0.95, eta: float = 2.0, interest: float = 0.03
) -> bl.Problem:
    """Return the problem of a household with assets ``a >= 0`` and log income that follows an AR(1)."""
    log_income, transition = bl.tauchen(states, rho=0.9, sigma=0.2)
    income = np.exp(log_income)
    assets = 40 * np.linspace(0, 1, grid) ** 2
    wealth = (1 + interest) * assets[:, None] + income
    return bl.Problem(
        grid=assets,
        wealth=wealth,
        transition=transition,
        beta=beta,
        eta=eta,
        name="savings",
        asset="assets a",
        shock="income y",
        shock_values=income,
        marginal_wealth=np.full_like(wealth, 1 + interest),
    )


if __name__ == "__main__":
    result = bl.solve(savings())
    print(result)
    print(bl.euler_report(result))
    print(bl.moments(result))
