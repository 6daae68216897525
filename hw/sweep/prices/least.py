"""Running minima of the costs of each exogenous state, in a lane and from lane to lane."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import MAXIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import ROW_SHIFT
from beltline.hw.sweep.prices.parameters import LEAST_CLOCKS

_HALF = WIDTH // 2


def _biased(word: Value) -> Value:
    """Return a word whose unsigned order is the signed order of ``word``."""
    return Cat(word[: WIDTH - 1], ~word[WIDTH - 1])


class Least(wiring.Component):
    """Stores the smallest cost of each exogenous state so far, and the lowest candidate that has it.

    Costs of a lane's points enter from the last point to the first. Each is replaced by the smallest one of its state
    so far (:class:`beltline.hw.sweep.prices.parameters.PricesParameters`). Between two passes the smallest costs of all
    lanes pass from the last lane to the first: the lane sends on the smaller of what it receives and what it stores,
    and stores what it receives, the smallest cost of all higher candidates. Of equal costs, that of the lowest
    candidate counts.

    Latency: ``LEAST_CLOCKS`` from ``valid`` to ``write``, and from ``upper_valid`` to ``lower_valid``. Throughput: a
    word in every clock, but two of the same state at least ``LEAST_CLOCKS`` clocks apart. Contract: fixed latency, no
    ready; ``valid`` and ``upper_valid`` are never both high.

    Widths such as ``point_bits`` are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    storing : in, 1 bit
        The pass writes costs, and begins with the minima that were received. If not, it begins without any.
    points, first_point : in, ``point_bits + 1`` and ``index_bits``
        Points of the lane, and the grid index of the first one.
    priced : in, a bit for each exogenous state
        Mark ``PRICED``: whether the costs of each state are written.
    valid, state, point, cost : in, 1 bit, ``state_bits``, ``point_bits``, signed 64 bits
        A cost, its exogenous state and its point.
    upper_valid, upper_state, upper_cost, upper_index : in, 1 bit, ``state_bits``, signed 64 bits, ``index_bits``
        The smallest cost of all higher lanes in an exogenous state, and its candidate.
    lower_valid, lower_state, lower_cost, lower_index : out
        The same for the next lower lane.
    write, word, row, least : out, 1 bit, 3 bits, row address, 64 bits
        A cost to write: the word of its row, the address of the row in the lane's row memory, and the cost.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        minimum = {
            "valid": 1,
            "state": build.state_bits,
            "cost": signed(WIDTH),
            "index": build.index_bits,
        }
        super().__init__(
            {
                "storing": In(1),
                "points": In(build.point_bits + 1),
                "first_point": In(build.index_bits),
                "priced": In(build.states),
                "valid": In(1),
                "state": In(build.state_bits),
                "point": In(build.point_bits),
                "cost": In(signed(WIDTH)),
                **{f"upper_{name}": In(shape) for name, shape in minimum.items()},
                **{f"lower_{name}": Out(shape) for name, shape in minimum.items()},
                "write": Out(1),
                "word": Out(ROW_SHIFT),
                "row": Out(range(parameters.rows)),
                "least": Out(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build = self.parameters.build
        m.submodules.minima = minima = Ram(WIDTH + build.index_bits, build.states)
        chains = self.upper_valid
        last_point = Signal(build.point_bits)
        m.d.sync += last_point.eq(self.points - 1)
        index = self.first_point | self.point
        alone = Mux(chains, self.points == 0, ~self.storing & (self.point == last_point))
        other = p.register(Cat(Mux(chains, self.upper_cost, self.cost), Mux(chains, self.upper_index, index)), 0)
        place = p.register(Cat(Mux(chains, self.upper_state, self.state), self.point), 0)
        kind = p.register(Cat(chains, alone), 0)
        # From here, as flags: they are cleared by a reset.
        own_valid, chain_valid = (p.valid(p.input(flag), LEAST_CLOCKS) for flag in (self.valid, self.upper_valid))
        stores = p.valid(p.input(self.valid & self.storing), LEAST_CLOCKS)
        m.d.comb += minima.read_address.eq(place.value[: build.state_bits])
        priced = p.register(Array(self.priced)[place.value[: build.state_bits]], 1)

        # The word in memory arrives. The first of two words that are not the same is the minimum if it is smaller.
        read = 1 + READ_LATENCY
        entered, (is_chain, is_alone) = p.delay(other, READ_LATENCY).value, p.delay(kind, READ_LATENCY).value
        stored = Mux(is_alone, Cat(Const(MAXIMUM, WIDTH), Const(0, build.index_bits)), minima.read_data)
        first, second = Mux(is_chain, entered, stored), Mux(is_chain, stored, entered)
        high, low = (
            [_biased(word)[part] for word in (first, second)] for part in (slice(_HALF, WIDTH), slice(0, _HALF))
        )
        above = p.register(high[0] < high[1], read).value
        equal = p.register(high[0] == high[1], read).value
        below = p.register(low[0] < low[1], read).value
        words = [p.register(word, read).value for word in (first, second)]
        smaller = p.register(Mux(above | (equal & below), *words), read + 1)
        assert smaller.time == LEAST_CLOCKS
        received = p.delay(other, LEAST_CLOCKS - other.time).value
        at = p.delay(place, LEAST_CLOCKS - place.time).value
        state, point = at[: build.state_bits], at[build.state_bits :]
        m.d.comb += [
            minima.write.eq(own_valid | chain_valid),
            minima.write_address.eq(state),
            minima.write_data.eq(Mux(chain_valid, received, smaller.value)),
            self.lower_valid.eq(chain_valid),
            self.lower_state.eq(state),
            Cat(self.lower_cost, self.lower_index).eq(smaller.value),
            self.write.eq(stores & p.delay(priced, LEAST_CLOCKS - priced.time).value),
            # The upper and lower four words of rows of costs are exchanged.
            self.word.eq(Cat(point[: ROW_SHIFT - 1], ~point[ROW_SHIFT - 1])),
            self.row.eq(Cat(point[ROW_SHIFT:][: build.local_bits], state, Const(0, 1), Const(1, 1))),
            self.least.eq(smaller.value[:WIDTH]),
        ]
        return m
