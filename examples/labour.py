"""Define a model of your own, with a choice of hours and a tax on labour: ``python examples/labour.py``."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import beltline as bl


@dataclass(frozen=True)
class Labour(bl.Model):
    """A household that chooses assets and hours, with AR(1) log wages and a tax on labour income.

    Utility is CRRA in ``c - hours**(1 + 1/frisch) / (1 + 1/frisch)`` (Greenwood, Hercowitz and Huffman 1988), so hours
    depend on the wage alone, and the problem can be solved with ``c`` less the disutility of hours in place of ``c``.
    ``frisch`` is the Frisch elasticity of labour supply, ``interest`` the interest rate of a period.
    """

    grid: int = 500
    states: int = 5
    tax: float = 0.25
    frisch: float = 0.5
    interest: float = 0.03

    def day(self) -> tuple[Any, ...]:
        """Return the Markov matrix of the wage, and for each state the wage, hours and the disutility of hours."""
        log_wage, transition = bl.rouwenhorst(self.states, rho=0.9, sigma=0.2)
        wage = np.exp(log_wage)
        hours = ((1 - self.tax) * wage) ** self.frisch
        return transition, wage, hours, hours ** (1 + 1 / self.frisch) / (1 + 1 / self.frisch)

    def problem(self) -> bl.Problem:
        """Return the problem, with consumption less the disutility of hours in place of consumption."""
        transition, wage, hours, effort = self.day()
        assets = bl.grid_polynomial(0, 40, self.grid)
        wealth = (1 + self.interest) * assets[:, None] + (1 - self.tax) * wage * hours - effort
        names = {"name": "labour", "asset": "assets a", "shock": "wage w", "shock_values": wage}
        return bl.Problem(grid=assets, wealth=wealth, transition=transition, beta=0.95, eta=2.0, **names)

    def variables(self, result: bl.Result) -> dict[str, Any]:
        """Return the tables of a result by name, with consumption itself, hours and the tax paid."""
        _, wage, hours, effort = self.day()
        found = super().variables(result)
        shape = result.value.shape
        found |= {"hours": np.broadcast_to(hours, shape), "tax": np.broadcast_to(self.tax * wage * hours, shape)}
        return found | {"consumption": found["consumption"] + effort}


if __name__ == "__main__":
    for tax in (0.0, 0.25, 0.5):
        model = Labour(tax=tax)
        result = bl.solve(model, tol=1e-8)
        mass = bl.stationary_distribution(result)
        means = {name: float((mass * table).sum()) for name, table in model.variables(result).items()}
        print(f"tax {tax:.0%}, {result.status}:", ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()))
