"""The Markov matrix of the states under a policy."""

from __future__ import annotations

from typing import Any

import numpy as np

from beltline.host.analysis.policy import check_forever, followed, policy_of
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.results.result import Result


def transitions(result: Result) -> Any:
    """Return the Markov matrix of the states; the method ``Result.transitions`` calls this."""
    problem = result.problem
    if not isinstance(problem, DiscreteProblem):
        followed(result, "a Markov matrix")
        policy = policy_of(result)
        ends = (policy.choice < 0) & (policy.probability > 0)
        if ends.any():
            d = int(np.argmax(ends.any(axis=(1, 2))))
            raise ProblemError(f"alternative {result.alternatives[d]!r} ends the problem, so that rows do not sum to 1")
        return policy.matrix()
    check_forever(problem, "a Markov matrix")
    program, actions = problem.program, result.policy.reshape(-1)
    none = (actions < 0) & ~program.lost
    if none.any():
        raise ProblemError(f"{problem.state_name(int(np.argmax(none)))} has no action")
    own = np.flatnonzero((program.action == actions[program.state]) | program.lost[program.state])
    return program.chances[program.lottery[own]]
