"""How lanes of the sweep engine read tables of each other: buses of whole rows, in turn."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed, either
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import ROW_BITS, SweepParameters

TAKEN_CLOCKS = 3
"""Clocks from a request in its lane's turn to ``taken``."""

_ADDRESS_CLOCKS = 4
"""Clocks from a request to its address at the memory."""


class RowPort(wiring.Signature):
    """A lane's port to the buses, as the lane sees it.

    ``request`` asks for row ``row`` of table ``inner``. What stands there in the lane's ``turn`` is taken or not, which
    ``taken`` says ``TAKEN_CLOCKS`` later. Rows come in the order in which they were taken: ``valid`` and ``data``.
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
    """The buses' port to a lane's memory of rows: ``data`` comes ``beltline.hw.memory.ram.READ_LATENCY`` clocks after
    ``address``.
    """

    def __init__(self, address_bits: int) -> None:
        super().__init__({"address": Out(address_bits), "data": In(ROW_BITS)})


@dataclass(frozen=True)
class RowBusesParameters:
    """Buses that carry a row of ``ROW_WORDS`` words from any lane's memory to any lane.

    Lane ``l`` has its turn on bus ``l // slots`` in the clocks ``t = l (mod slots)`` from the end of a reset or behind
    a ``restart``: every lane may fetch a row every ``slots`` clocks, whatever the others do, but for one conflict: of
    the lanes that have their turns in the same clock and ask for rows of the same lane, the lowest is served, with it
    those that ask for the same row of the same table, up to the first that asks for another, and the rest try again.
    They are ``slots`` lanes apart, and a policy that sends so many lanes to the rows of one needs few rows.

    Parameters
    ----------
    build
        Of the engine.
    inner_bits
        Bits of the number of a table; a lane's memory has ``2**inner_bits`` tables of ``2**local_bits`` rows.
    """

    build: SweepParameters
    inner_bits: int

    @property
    def address_bits(self) -> int:
        """Bits of an address in a lane's memory: the row in the lane, then the table."""
        return self.build.local_bits + self.inner_bits

    @property
    def latency(self) -> int:
        """Clocks from a request that is taken to its row."""
        # Multiplexers of four words, a LUT of six inputs a bit, and a register behind each.
        levels = -(-self.build.lane_bits // 2)
        return _ADDRESS_CLOCKS + READ_LATENCY + levels + 1


class RowBuses(wiring.Component):
    """:class:`RowBusesParameters` in gateware.

    Attributes
    ----------
    shift
        A row is that of lane ``row >> shift``, and there the row of the ``shift`` bits below. It may change only when
        no request is under way.
    restart
        The clock behind it is the first of a round of turns. No request may be under way.
    lanes
        A :class:`RowPort` for each lane, seen from the other side.
    banks
        A :class:`BankPort` for each lane's memory.
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
        slots = build.slots
        slot = Signal(range(slots))
        m.d.sync += slot.eq(slot + 1)
        with m.If(self.restart):
            m.d.sync += slot.eq(0)
        turns = [Signal(name=f"turn{k}") for k in range(slots)]
        m.d.comb += [turn.eq(slot == k) for k, turn in enumerate(turns)]

        sources: list[Timed] = []
        lower: list[tuple[Value, Value, Value]] = []  # of each bus that goes first: whether it asks, of whom, for what
        wanted: list[list[tuple[Value, Value]]] = [[] for _ in range(build.lanes)]
        for bus in range(build.buses):
            # Whose turn it is, then the lane and the row in it that it wants, then whether a lower bus wants another
            # row of that lane.
            own = list(zip(turns, self.lanes[bus * slots : (bus + 1) * slots], strict=False))
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
            lost = Cat(*(asks & (whose == source.value) & (wants != what) for asks, whose, wants in lower)).any()
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

        for bus, source in enumerate(sources):
            words, time = [bank.data for bank in self.banks], _ADDRESS_CLOCKS + READ_LATENCY
            for low in range(0, build.lane_bits, 2):
                digit = p.delay(source, time - source.time).value[low : low + 2]
                words = [p.register(_selected(words[k : k + 4], digit), time).value for k in range(0, len(words), 4)]
                time += 1
            data = p.register(words[0], time)
            assert data.time == latency
            m.d.comb += [lane.data.eq(data.value) for lane in self.lanes[bus * slots : (bus + 1) * slots]]
        return m


def _place(row: Value, shift: int, build: SweepParameters) -> Value:
    """The row in its lane, and above it the lane, where a lane has ``2**shift`` rows."""
    return Cat(row[:shift], Const(0, build.local_bits - shift), row[shift : shift + build.lane_bits])


def _selected(words: list[Value], digit: Value) -> Value:
    """Word number ``digit`` of four, or of two."""
    if len(words) == 2:
        return Mux(digit[0], words[1], words[0])
    return Mux(digit[1], Mux(digit[0], words[3], words[2]), Mux(digit[0], words[1], words[0]))
