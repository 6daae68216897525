"""Row buses, over which the lanes of a sweep engine read each other's tables, a row at a time and in fixed turns."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed, either
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import ROW_BITS, SweepParameters

TAKEN_CLOCKS = 3
"""Clocks from a request, in the turn of its lane, to ``taken``."""

_ADDRESS_CLOCKS = 4
"""Clocks from a request to its address at the memory that has the row."""


class RowPort(wiring.Signature):
    """A lane's port to the row buses. Directions are those of the lane.

    Contract: a request counts only in a clock in which ``turn`` is high. ``TAKEN_CLOCKS`` clocks later ``taken`` says
    whether it was taken; if not, the lane requests again in its next turn. Rows arrive in the order in which they were
    taken, the latency of the buses after the turn, and cannot be delayed.

    Parameters
    ----------
    row_bits
        Bits of a row number.
    inner_bits
        Bits of a table number.

    Attributes
    ----------
    turn : in, 1 bit
        It is the lane's turn.
    request : out, 1 bit
        Requests a row.
    row : out, ``row_bits`` bits
        Row number within the problem's grid.
    inner : out, ``inner_bits`` bits
        Table to read.
    taken : in, 1 bit
        The request of ``TAKEN_CLOCKS`` clocks ago was taken.
    valid : in, 1 bit
        High in clocks with a row.
    data : in, ``ROW_BITS`` bits
        The row, its first word in the lowest bits.
    """

    def __init__(self, row_bits: int, inner_bits: int) -> None:
        super().__init__(
            {
                "turn": In(1),
                "request": Out(1),
                "row": Out(row_bits),
                "inner": Out(inner_bits),
                "taken": In(1),
                "valid": In(1),
                "data": In(ROW_BITS),
            }
        )


class BankPort(wiring.Signature):
    """Read port of the row buses to a lane's memory of rows. Directions are those of the buses.

    Latency of the memory: ``beltline.hw.memory.ram.READ_LATENCY`` clocks.

    Attributes
    ----------
    address : out, ``address_bits`` bits
        Row number within the lane, and above it the table.
    data : in, ``ROW_BITS`` bits
        The row.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__({"address": Out(address_bits), "data": In(ROW_BITS)})


@dataclass(frozen=True)
class RowBusesParameters:
    """Parameters of the row buses, which carry rows of ``ROW_WORDS`` words from any lane's memory to any lane.

    Lane ``l`` has its turn on bus ``l // SLOTS`` in clocks ``t = l (mod SLOTS)``, counted from the end of a reset or
    the clock after ``restart``. So each lane may fetch a row every ``SLOTS`` clocks, whatever the others do, except in
    one conflict: lanes with turns in the same clock request rows of the same lane. Then the lowest of them is served,
    and with it those that request the same row of the same table, up to the first that requests another; the others
    must try again. Such lanes are ``SLOTS`` lanes apart; a policy that leads several of them to one lane needs few
    rows.

    In a general build the order of these lanes is that of the exogenous states whose rows they request, and
    only among equal states that of their numbers. There the same few candidates of many exogenous states are read by
    all lanes, such as the one choice after a default. If the lowest lane were served first, lanes would soon be at
    different exogenous states, and each row would be read again for each lane. In this order the slowest lane goes
    first, and one access serves all of them.

    Parameters
    ----------
    build
        Sizes of the engine.
    inner_bits
        Bits of a table number. A lane's memory has ``2**inner_bits`` tables of ``2**local_bits`` rows.
    """

    build: SweepParameters
    inner_bits: int

    @property
    def address_bits(self) -> int:
        """Bits of an address in a lane's memory: the row within the lane, and above it the table."""
        return self.build.local_bits + self.inner_bits

    @property
    def latency(self) -> int:
        """Clocks from a request that is taken to its row, 11 for 64 lanes."""
        # Multiplexers of four words, each one LUT with six inputs for a bit, with a register after each.
        levels = -(-self.build.lane_bits // 2)
        return _ADDRESS_CLOCKS + READ_LATENCY + levels + 1


class RowBuses(wiring.Component):
    """Carries rows between the lanes.

    Latency: ``parameters.latency`` clocks from a request that is taken to its row. Throughput: a row for each bus in
    every clock. Turns and conflicts: :class:`RowBusesParameters`; contract of the lanes: :class:`RowPort`.

    Attributes
    ----------
    shift : in, enough bits for 0 to ``local_bits``
        Row ``row`` is in lane ``row >> shift``, where its number is the lower ``shift`` bits of ``row``. It may change
        only if no request is being served.
    restart : in, 1 bit
        The next clock is the first of a round of turns. No request may be in progress.
    lanes : in, :class:`RowPort` for each lane
        Ports of the lanes, with opposite directions.
    banks : out, :class:`BankPort` for each lane
        Read ports of the lanes' memories.
    """

    def __init__(self, parameters: RowBusesParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "shift": In(range(build.local_bits + 1)),
                "restart": In(1),
                "lanes": In(RowPort(build.row_bits, parameters.inner_bits)).array(build.lanes),
                "banks": Out(BankPort(parameters.address_bits)).array(build.lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        build, inner_bits, latency = self.parameters.build, self.parameters.inner_bits, self.parameters.latency
        slot = Signal(range(SLOTS))
        m.d.sync += slot.eq(slot + 1)
        with m.If(self.restart):
            m.d.sync += slot.eq(0)
        turns = [Signal(name=f"turn{k}") for k in range(SLOTS)]
        m.d.comb += [turn.eq(slot == k) for k, turn in enumerate(turns)]

        sources: list[Timed] = []
        lower: list[tuple[Value, Value, Value]] = []  # Lower buses: whether each requests, from which lane, which row.
        states: list[Value] = []  # Exogenous states of the requests, a clock earlier.
        losses: list[Signal] = []
        wanted: list[list[tuple[Value, Value]]] = [[] for _ in range(build.lanes)]
        for bus in range(build.buses):
            # Select the request of the lane whose turn it is; then find lane and row that it needs; then whether a
            # lower bus needs another row of that lane.
            own = list(zip(turns, self.lanes[bus * SLOTS : (bus + 1) * SLOTS], strict=False))
            asked = p.input(either((turn, lane.request) for turn, lane in own))
            request = p.register(either((turn, Cat(lane.inner, lane.row)) for turn, lane in own), 0)
            inner, row = request.value[:inner_bits], request.value[inner_bits:]
            places = ((self.shift == shift, _place(row, shift, build)) for shift in range(build.local_bits + 1))
            place = p.register(either(places), 1)
            flag = p.valid(asked, place.time)
            source = place.map(lambda value: value[build.local_bits :])
            address = p.delay(place.map(lambda value: value[: build.local_bits]), 1).value
            at_source = p.delay(Timed(inner, 1), place.time - 1)
            table = p.delay(at_source, 1).value
            what = Cat(place.value[: build.local_bits], at_source.value)
            lost: Value = Cat(*(asks & (whose == source.value) & (wants != what) for asks, whose, wants in lower)).any()
            if build.general:
                losses.append(lost := Signal(name=f"lost{bus}"))
                states.append(inner[: build.state_bits])
            taken = Signal(name=f"taken{bus}")
            m.d.sync += taken.eq(flag & ~lost)
            sources.append(source)
            lower.append((flag, source.value, what))
            for lane, choices in enumerate(wanted):
                hit = p.register(source.value == lane, place.time).value
                choices.append((taken & hit, Cat(address, table)))
            for turn, port in own:
                m.d.comb += [
                    port.turn.eq(turn),
                    port.taken.eq(taken & p.delay(p.input(turn), TAKEN_CLOCKS).value),
                    port.valid.eq(p.valid(Timed(port.taken, TAKEN_CLOCKS), latency)),
                ]
        for bank, choices in zip(self.banks, wanted, strict=True):
            m.d.sync += bank.address.eq(either(choices))
        self._by_state(m, p, losses, lower, states)

        for bus, source in enumerate(sources):
            words, time = [bank.data for bank in self.banks], _ADDRESS_CLOCKS + READ_LATENCY
            for low in range(0, build.lane_bits, 2):
                digit = p.delay(source, time - source.time).value[low : low + 2]
                words = [p.register(_selected(words[k : k + 4], digit), time).value for k in range(0, len(words), 4)]
                time += 1
            data = p.register(words[0], time)
            assert data.time == latency
            m.d.comb += [lane.data.eq(data.value) for lane in self.lanes[bus * SLOTS : (bus + 1) * SLOTS]]
        return m

    def _by_state(
        self,
        m: Module,
        p: Pipeline,
        losses: list[Signal],
        requests: list[tuple[Value, Value, Value]],
        states: list[Value],
    ) -> None:
        """Set ``losses``: a bus whose request comes first wants another row of the same lane.

        ``requests`` has, for each bus, whether it requests, from which lane, and which row. The first of two requests
        is that for the lower of ``states``, and for equal ones that of the lower bus.
        """
        conflicts: list[list[Value]] = [[] for _ in losses]
        for bus, (asks, source, what) in enumerate(requests[: len(losses)]):
            for other, (other_asks, other_source, other_what) in enumerate(requests[:bus]):
                precedes = p.register(states[other] <= states[bus], 1).value
                differs = (source == other_source) & (what != other_what)
                conflicts[bus].append(other_asks & differs & precedes)
                conflicts[other].append(asks & differs & ~precedes)
        for lost, those in zip(losses, conflicts, strict=True):
            m.d.comb += lost.eq(Cat(*those).any())


def _place(row: Value, shift: int, build: SweepParameters) -> Value:
    """Return the row number within its lane, and above it the lane, if each lane has ``2**shift`` rows."""
    return Cat(row[:shift], Const(0, build.local_bits - shift), row[shift : shift + build.lane_bits])


def _selected(words: list[Value], digit: Value) -> Value:
    """Return word number ``digit`` of four or two ``words``."""
    if len(words) == 2:
        return Mux(digit[0], words[1], words[0])
    return Mux(digit[1], Mux(digit[0], words[3], words[2]), Mux(digit[0], words[1], words[0]))
