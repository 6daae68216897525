"""Sizes and options of a build of the sweep engine."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import (
    GRID_LIMIT,
    ROW_WORDS,
    SLOTS,
    MachineParameters,
    Multiplier,
    bounds_reasons,
    check_absent,
    check_lanes,
    check_states,
    taste_reasons,
)
from beltline.hw.memory.ram import address_bits

ROW_SHIFT = ROW_WORDS.bit_length() - 1
"""``log2`` of ``ROW_WORDS``: grid point ``i`` is in row ``i >> ROW_SHIFT``."""

ROW_BITS = ROW_WORDS * WIDTH
"""Bits of a row."""

HALF_WORDS = ROW_WORDS // 2
"""Grid points of a half-row. A local search fetches the grid and the expected values of a half-row in one request."""

HALF_SHIFT = ROW_SHIFT - 1
"""``log2`` of ``HALF_WORDS``: grid point ``i`` is in half-row ``i >> HALF_SHIFT``."""


SHARED_STATES = 4
"""Most exogenous states for each lane with which lanes share brackets: each then has at most twice as many of these."""


@dataclass(frozen=True)
class SweepParameters:
    """Sizes of a build of the sweep engine.

    Parameters
    ----------
    grid
        Largest number of grid points ``N_k``: a power of two, at least ``ROW_WORDS * lanes`` and at most 65,536.
    states
        Largest number of exogenous states ``N_z``: 1 to 16, and up to 128 with ``multipliers``.
    lanes
        Number of lanes: a power of two from 1 to 256. Lane ``l`` has the grid points ``l 2**c`` to
        ``(l + 1) 2**c - 1`` of a problem. ``2**c`` is the least power of two, and at least ``ROW_WORDS``, with which
        the lanes hold the whole grid.
    slots
        Number of lanes that share a bus, 4 or 8. A lane can fetch a row of ``ROW_WORDS`` words every ``slots`` clocks.
    multiplier
        The chip's multiplier.
    proof
        Whether the choices of every maximising sweep are proven optimal (:mod:`beltline.hw.sweep.proof`).
    costs
        Whether the build stores a cost ``G(x', s)`` for each candidate and exogenous state, in place of the grid
        ``x'``. Requires ``proof``.
    alternatives
        Whether the maximum over each group of exogenous states is taken before the expectation
        (:mod:`beltline.hw.sweep.combine`). Requires ``costs`` and at least 2 ``states``. Such a build has no shifts.
    midpoints
        Whether shifts follow from the extremes of each exogenous state's changes (:mod:`beltline.hw.sweep.extremes`),
        and not from the change at the middle point of the grid. Excludes ``proof``.
    multipliers
        Multipliers of the expectation that are taken in turn (:mod:`beltline.hw.sweep.turns`); 0 for one multiplier for
        each exogenous state. Requires ``alternatives``.
    prices
        Whether the prices of bonds are computed between sweeps (:mod:`beltline.hw.sweep.prices.parameters`). Requires
        ``multipliers``.
    taste
        Whether the alternatives may have taste shocks: the log-sum over each group of exogenous states takes the place
        of the maximum (:mod:`beltline.hw.sweep.taste`). Requires ``alternatives`` and at least 4 ``states``, and
        excludes ``prices``.
    bounds
        Whether each state has a lowest and a highest candidate of its own (:mod:`beltline.hw.interface.bounds`).
        Requires ``alternatives``, and excludes ``prices``.
    overlap
        Whether the expectations of points whose states a local search has finished are computed during that search
        (:mod:`beltline.hw.sweep.search.follow`), and not in a patch after it. Excludes ``proof``.

    Raises
    ------
    ValueError
        A size is out of range, or an option is set without one that it requires.
    """

    grid: int = GRID_LIMIT
    states: int = 4
    lanes: int = 64
    slots: int = ROW_WORDS
    multiplier: Multiplier = Multiplier.DSP48E2
    proof: bool = False
    costs: bool = False
    alternatives: bool = False
    midpoints: bool = False
    multipliers: int = 0
    prices: bool = False
    bounds: bool = False
    taste: bool = False
    overlap: bool = False

    def __post_init__(self) -> None:
        check_lanes(self.lanes, self.grid)
        check_states(self.states, self.multipliers)
        if self.slots not in SLOTS:
            raise ValueError(f"slots of a build must be 4 or 8, not {self.slots}")
        if self.costs and not self.proof:
            raise ValueError("costs of a build must be False without proof")
        if self.alternatives:
            check_absent("alternatives", {"without costs": not self.costs, "with 1 state": self.states == 1})
        if self.midpoints and self.proof:
            raise ValueError("midpoints of a build must be False with proof")
        if self.overlap and self.proof:
            raise ValueError("overlap of a build must be False with proof")
        if self.multipliers and not self.alternatives:
            raise ValueError("multipliers of a build must be 0 without alternatives")
        if self.prices and not self.multipliers:
            raise ValueError("prices of a build must be False without multipliers")
        if self.taste:
            check_absent("taste", taste_reasons(self.alternatives, self.prices, self.states))
        if self.bounds:
            check_absent("bounds", bounds_reasons(self.alternatives, self.prices, self.taste))

    @classmethod
    def of(cls, machine: MachineParameters) -> SweepParameters:
        """Return the sizes of the sweep engine of ``machine``."""
        sizes = machine.grid, machine.states, machine.lanes, machine.row_slots
        kinds = machine.proof, machine.costs, machine.alternatives, machine.midpoints
        more = machine.multipliers, machine.prices, machine.bounds, machine.taste
        return cls(*sizes, machine.multiplier, *kinds, *more, overlap=machine.overlap)

    @property
    def prepares(self) -> bool:
        """Whether a lane prepares its next check as soon as its choices are final, while the sweep still ends.

        With ``proof`` the choices are final only when the last round of all lanes has ended.
        """
        return not self.proof

    @property
    def early(self) -> bool:
        """Whether shifts are computed while the sweep still goes on, from the changes of the reference point.

        These are final as soon as they are known, except with ``proof``, which repairs choices at the end of a sweep.
        With ``midpoints`` the changes of all points are needed. A single lane has thousands of states in a sweep of its
        largest problem, beside which the clocks of the shifts are few.
        """
        return self.lanes > 1 and not (self.proof or self.midpoints or self.alternatives)

    @property
    def hands(self) -> bool:
        """Whether the check hands the first state that fails of each search to the local search, with what it knows.

        A search then begins with the better neighbour of the choice, and not with a look for a state
        (:class:`beltline.hw.sweep.search.handed.Handed`). With ``proof`` a search may begin without a check. A single
        lane has thousands of states in a sweep of its largest problem, beside which the clocks of this are few.
        """
        return self.lanes > 1 and not self.proof

    @property
    def sparse(self) -> bool:
        """Whether ``MODE`` can leave out the proofs of some sweeps (:class:`beltline.hw.sweep.intervals.Intervals`)."""
        return self.proof and not self.alternatives

    @property
    def shares(self) -> bool:
        """Whether the lanes can share the brackets at the ends of the grid (:class:`beltline.hw.sweep.scan.share`).

        They can in a build with alternatives, unless it has more exogenous states than its lanes can share.
        """
        return self.alternatives and self.lanes > 1 and self.states <= SHARED_STATES * self.lanes

    @property
    def index_bits(self) -> int:
        """Bits of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def row_bits(self) -> int:
        """Bits of a row number, ``index // ROW_WORDS``."""
        return self.index_bits - ROW_SHIFT

    @property
    def count_bits(self) -> int:
        """Bits of a number of exogenous states, at least 5."""
        return max(5, self.states.bit_length())

    @property
    def turn_bits(self) -> int:
        """Bits of a turn of the expectation's multipliers, at least 1; only for a build that takes them in turn."""
        return max(1, (self.states // self.multipliers - 1).bit_length())

    def turns(self, states: int) -> int:
        """Return the turns of the expectation's multipliers for a problem with ``states`` exogenous states."""
        return -(-states // self.multipliers) if self.multipliers else 1

    @property
    def lane_bits(self) -> int:
        """Bits of a lane number, 0 for one lane."""
        return self.lanes.bit_length() - 1

    @property
    def local_bits(self) -> int:
        """Bits of a row number within its lane."""
        return self.row_bits - self.lane_bits

    @property
    def state_bits(self) -> int:
        """Bits of the number of an exogenous state, at least 1."""
        return max(1, (self.states - 1).bit_length())

    @property
    def cost_bits(self) -> int:
        """Bits of the exogenous state in a word address of window ``X``, below those of the point; 0 without costs."""
        return (self.states - 1).bit_length() if self.costs else 0

    @property
    def inner_bits(self) -> int:
        """Bits that say what is requested of a row.

        From the lowest bit on: the exogenous state; which half-row, 1 for the upper; and whether the request is for a
        half-row of both tables, as from local search and scan, and not for a row of expected values.
        """
        return self.state_bits + 2

    @property
    def point_bits(self) -> int:
        """Bits of a point number within its lane."""
        return self.local_bits + ROW_SHIFT

    @property
    def position_bits(self) -> int:
        """Bits of a state's position within its lane: ``point * N_z + s``, with the problem's ``N_z``."""
        return address_bits(self.grid // self.lanes * self.states)

    @property
    def buses(self) -> int:
        """Number of row buses."""
        return -(-self.lanes // self.slots)

    def local_rows(self, grid: int) -> int:
        """Return the number of rows in each lane of a problem with ``grid`` points, a power of two.

        Row ``r`` of the problem is in lane ``r // local_rows(grid)``.
        """
        rows = 1
        while ROW_WORDS * rows * self.lanes < grid:
            rows *= 2
        return rows
