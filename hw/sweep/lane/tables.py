"""Tables of a lane's own states: cash on hand, values, choices and cached utilities."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.bounds import INDEX_BITS, USED_BYTES
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import BLOCK_DEPTH, Ram
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.lane.parameters import LaneParameters


class Tables(wiring.Component):
    """Stores cash on hand, value, choice and cached utilities of every state of a lane.

    Each table is a memory with one read and one write port. ``cached`` stands for cached utilities: the utilities of
    ``i - 1``, ``i`` and ``i + 1`` around the choice ``i``, and whether each is feasible (``CACHED_BITS``). There are
    two copies of the values, before and after the sweep, and three copies of the choices, so that a state and its two
    neighbours are read at once.

    Latency: ``READ_LATENCY`` for a pass, one clock more for ``word``. Throughput: a read and a write a clock for each
    memory. Contract: no ready; the pass in progress has the read ports, otherwise the host.

    Addresses are numbers of states in the lane, of ``position_bits``.

    Attributes
    ----------
    wealth_write, value_write, write_address, data : in
        The host's writes, see :class:`beltline.hw.sweep.lane.lane.Lane`.
    read_address, read_wealth, read_policy, word : in, in, in, out
        The host's reads, see the same class.
    checking, searching, patching : in, 1 bit each
        Check, local search or patch is in progress.
    check_choice, check_cached, check_old : in, ``position_bits`` each
        Addresses from the check: of a choice, of cached utilities, of a value.
    search_wealth, search_choice, search_old : in, ``position_bits`` each
        Addresses from the local search: of cash on hand, of a choice, of a value.
    patch_position : in, ``position_bits``
        Address from the patch, of a value.
    wealth, value : out, 64 bits each
        Cash on hand and value that were read.
    choice, cached : out, ``index_bits`` and ``CACHED_BITS``
        Choice and cached utilities that were read.
    found : in, 1 bit
        The local search writes a choice and its cached utilities.
    found_position, found_choice, found_cached : in
        Their address, the choice (``index_bits``) and the cached utilities (``CACHED_BITS``).
    written : in, 1 bit
        A value is written; the host must not write one in this clock.
    place, new : in, ``position_bits`` and signed 64 bits
        Its address, and the value.
    fresh : out, 64 bits
        The value after the sweep at the address of ``value``.
    values : in, 1 bit
        Which copy holds the values before the sweep. A sweep writes the other one. The host writes both and reads the
        one before the sweep.
    better : in, 1 bit
        A scan writes a choice alone, by ``found_position`` and ``found_choice``.
    scanning : in, 1 bit
        A scan is in progress.
    scan_wealth, scan_choice, scan_below, scan_above : in, ``position_bits`` each
        Addresses from the scan, of cash on hand and of three choices.
    below, above : out, ``index_bits`` each
        The choices at ``scan_below`` and ``scan_above``, from copies of their own.
    bounds_write : in, 4 bits
        Only in general builds: byte strobes of the host's writes of candidates, see
        :class:`beltline.hw.sweep.lane.lane.Lane`.
    least, most : out, ``index_bits`` each
        Only in general builds: the lowest and the highest candidate of the state whose ``choice`` was read.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        bits = build.position_bits
        ports = parameters.ports
        hosts = ["wealth_write", "value_write", "write_address", "data", "read_address", "read_wealth", "read_policy"]
        if build.general:
            hosts.append("bounds_write")
        reads = (
            "check_choice",
            "check_cached",
            "check_old",
            "search_wealth",
            "search_choice",
            "search_old",
            "patch_position",
        )
        super().__init__(
            {
                **{name: ports[name] for name in (*hosts, "word")},
                **{name: In(1) for name in ("checking", "searching", "patching")},
                **{name: In(bits) for name in reads},
                "wealth": Out(WIDTH),
                "value": Out(WIDTH),
                "choice": Out(build.index_bits),
                "cached": Out(CACHED_BITS),
                "found": In(1),
                "found_position": In(bits),
                "found_choice": In(build.index_bits),
                "found_cached": In(CACHED_BITS),
                "written": In(1),
                "place": In(bits),
                "new": In(signed(WIDTH)),
                "fresh": Out(WIDTH),
                "values": In(1),
                "scanning": In(1),
                "better": In(1),
                **{f"scan_{name}": In(bits) for name in ("wealth", "choice", "below", "above")},
                **{name: Out(build.index_bits) for name in ("below", "above")},
                **({name: Out(build.index_bits) for name in ("least", "most")} if build.general else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build, cells = self.parameters.build, self.parameters.cells
        m.submodules.wealth = wealth = Ram(WIDTH, cells, WORD_BYTES, "block" if cells >= BLOCK_DEPTH else "")
        m.submodules.choice = choice = Ram(build.index_bits, cells)
        m.submodules.cached = cached = Ram(CACHED_BITS, cells)
        own = Mux(self.searching, self.search_old, Mux(self.patching, self.patch_position, self.read_address))
        values = [Ram(WIDTH, cells, WORD_BYTES) for _ in range(2)]
        for number, value in enumerate(values):
            # The host writes both copies. A sweep writes the one that does not hold the values before it.
            m.submodules["value" if number == 0 else "second_value"] = value
            whole = (1 << WORD_BYTES) - 1
            written = Mux(self.values != number, whole, 0)
            m.d.comb += [
                value.write.eq(Mux(self.written, written, self.value_write)),
                value.write_address.eq(Mux(self.written, self.place, self.write_address)),
                value.write_data.eq(Mux(self.written, self.new, self.data)),
                value.read_address.eq(Mux(self.checking, self.check_old, own)),
            ]
        read_values = [value.read_data for value in values]
        read_values = [Mux(self.values, *pair) for pair in (read_values[::-1], read_values)]
        for name in ("below", "above"):
            m.submodules[f"choice_{name}"] = copy = Ram(build.index_bits, cells)
            m.d.comb += [
                copy.write.eq(self.found | self.better),
                copy.write_address.eq(self.found_position),
                copy.write_data.eq(self.found_choice),
                copy.read_address.eq(getattr(self, f"scan_{name}")),
                getattr(self, name).eq(copy.read_data),
            ]
        m.d.comb += [
            wealth.write.eq(self.wealth_write),
            wealth.write_address.eq(self.write_address),
            wealth.write_data.eq(self.data),
            wealth.read_address.eq(self._address("wealth", self.read_address)),
            choice.write.eq(self.found | self.better),
            choice.write_address.eq(self.found_position),
            choice.write_data.eq(self.found_choice),
            choice.read_address.eq(Mux(self.checking, self.check_choice, self._address("choice", self.read_address))),
            cached.write.eq(self.found),
            cached.write_address.eq(self.found_position),
            cached.write_data.eq(self.found_cached),
            cached.read_address.eq(self.check_cached),
            self.wealth.eq(wealth.read_data),
            self.value.eq(read_values[0]),
            self.fresh.eq(read_values[1]),
            self.choice.eq(choice.read_data),
            self.cached.eq(cached.read_data),
        ]
        if build.general:
            m.submodules.bounds = bounds = Ram(8 * USED_BYTES, cells, USED_BYTES)
            m.d.comb += [
                bounds.write.eq(self.bounds_write),
                bounds.write_address.eq(self.write_address),
                bounds.write_data.eq(self.data),
                bounds.read_address.eq(choice.read_address),
                self.least.eq(bounds.read_data),
                self.most.eq(bounds.read_data[INDEX_BITS:]),
            ]
        read = Mux(self.read_wealth, wealth.read_data, Mux(self.read_policy, choice.read_data, self.value))
        m.d.sync += self.word.eq(read)
        return m

    def _address(self, name: str, otherwise: Value) -> Value:
        """Return the address of a local search or of a scan while one is in progress, and else ``otherwise``."""
        address = Mux(self.searching, getattr(self, f"search_{name}"), otherwise)
        return Mux(self.scanning, getattr(self, f"scan_{name}"), address)
