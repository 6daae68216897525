"""A lane of the sweep engine: its share of every table, and the units that make the passes of a sweep over it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import Check, CheckParameters
from beltline.hw.sweep.lane.expects import Expects
from beltline.hw.sweep.lane.judge import Judge
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.lane.port import share
from beltline.hw.sweep.lane.rows import Rows
from beltline.hw.sweep.lane.tables import Tables
from beltline.hw.sweep.lane.values import Values
from beltline.hw.sweep.patch import Patch, PatchParameters
from beltline.hw.sweep.scan.borders import Borders
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan.scan import Scan
from beltline.hw.sweep.search.local_search import LocalSearch
from beltline.hw.sweep.turns import COLUMN_BITS

MODULE = "beltline_lane"

_SAMPLE, _SIDES = ("sample_valid", "sample_state", "sample"), ("least", "most")


class Lane(wiring.Component):
    """Makes the passes of a sweep over a lane's points: check, local search and patch.

    The parameters are :class:`LaneParameters`. Throughput: a state a clock in check and patch, an evaluation a clock in
    the local search. The clocks of a pass depend on the data; ``done`` ends it. The clock model
    :mod:`beltline.hw.sweep.clocks` gives its exact length.

    Constants of the utility, sizes of the problem and marks must not change during a run. The inputs from ``prologue``
    to ``shift_before`` must not change from ``go`` to ``done``. The host may not write during a run. Widths such as
    ``point_bits`` are those of :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    a, b, negative, log, shift : in
        Constants of the utility, :data:`beltline.hw.arithmetic.utility.CONSTANTS`.
    linear : in, 1 bit
        Only in general builds: utility is linear, :data:`beltline.hw.arithmetic.utility.LINEAR`.
    points : in, ``point_bits + 1``
        Points of the lane; 0 for a lane without points.
    count : in, ``position_bits + 1``
        States of the lane, ``points * N_z``.
    states : in, ``count_bits``
        ``N_z``.
    last_index : in, ``index_bits``
        The last candidate of the grid.
    first_point : in, ``index_bits``
        Grid index of the lane's first point.
    part_shift : in, 0 to ``point_bits``
        ``2**part_shift`` points belong to one search, see :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    weight_write, weight_row, weight_column : in
        A write of ``beta Q``, see :class:`beltline.hw.arithmetic.expectation.Expectation`; the weight is ``data``.
    x_write, wealth_write, value_write : in, 8 bits each
        Byte strobes of the host's writes of the grid (or costs), of cash on hand and of values.
    write_address : in, ``position_bits``
        The point for the grid, and the number of the state in the lane for the other two. For costs: see
        :class:`beltline.hw.sweep.lane.rows.Rows`.
    data : in, 64 bits
        The word to write.
    read_address : in, ``position_bits``
        The number of the state that the host reads.
    read_wealth, read_policy : in, 1 bit each
        ``READ_LATENCY`` clocks after the address: read cash on hand, or the choice; without either, the value.
    word : out, 64 bits
        The word read, ``READ_LATENCY + 1`` clocks after its address.
    go : in, 1 bit
        Begins a pass, which the next four inputs describe.
    prologue : in, 1 bit
        The pass computes the expected values of all points. A run begins with a prologue and a sweep with ``cold``.
    cold : in, 1 bit
        There are no stored choices: every state is searched.
    fixed : in, 1 bit
        Policy evaluation sweep: no state is searched.
    half : in, 1 bit
        The half of the expected values that is read; the other one is written.
    shift_after, shift_before : in, signed 64 bits for each exogenous state
        Added to new values, and to the old values with which they are compared.
    sample_place : in, ``position_bits``
        The number of state 0 of the reference point.
    has_reference : in, 1 bit
        The reference point lies in this lane.
    sample_valid, sample_state, sample : out, 1 bit, ``state_bits``, signed 64 bits
        The change of value of a state of the reference point, before ``done``.
    done : out, 1 bit
        Falls in the clock after ``go``, unless the lane has no point. Rises when everything has been written.
    norm : out, 64 bits
        The largest change of a value in this sweep; final with ``done``.
    retired : out, 1 bit
        High in clocks in which a state has its new value.
    saturated : out, 1 bit
        High for a clock: a word left its range.
    infeasible : out, 1 bit
        High for a clock: a state can afford no candidate. In a general build: no alternative of a group can; reported
        once, at the end of the pass.
    fetch : out, :class:`beltline.hw.sweep.row_buses.RowPort`
        Requests rows of other lanes on the row buses.
    bank : in, :class:`beltline.hw.sweep.row_buses.BankPort`
        Reads rows of this lane for the row buses.
    values : in, 1 bit
        Which of the two copies holds the values before the sweep.
    round, divide, odd : in, 1 bit each
        ``round`` begins a round over the odd or the even points, or one of divide and conquer
        (``divide``), over the lane's first point (``odd``) or all others. ``divide`` and ``odd`` do not change during
        the round. The clock after ``round`` is the first of a turn of the buses and of the ring of searches.
    stored : in, 1 bit
        With ``cold``, searches begin from the choices in the lane's memory all the same.
    finish : in, 1 bit
        The proof has ended.
    met : out, 1 bit
        The lane waits for ``round`` or ``finish``.
    better, crossed : out, 1 bit each
        The last round found a better choice; it found a choice below that of the point before.
    point_shift, lower_last, upper_first, first, last
        See :class:`beltline.hw.sweep.scan.borders.Borders`. A full lane has ``2**point_shift``
        points.
    sharing, confirmed : in, 1 bit each
        Only in general builds, as the next two lines: see
        :class:`beltline.hw.sweep.scan.brackets.Brackets`. With ``sharing`` port ``better`` says that a bracket of
        another lane's state has a better candidate.
    sent, sent_bracket, given, given_bracket : out, out, in, in
        See :class:`beltline.hw.sweep.scan.share.Share`; brackets are the bits of ``ScanParameters.shared``.
    begins, ends, keeps : in, a bit for each exogenous state of the build
        Only in general builds: :class:`beltline.hw.interface.groups.Mark` of each state. Then ``shift_after`` is what a
        state adds to its value in every sweep, and ``shift_before`` is 0.
    slope, unit, lift : in; 63, 64 and 6 bits
        Only in general builds: constants of the log-sum, which are in :class:`GroupTable` as well.
    forced : in, a bit for each exogenous state of the build
        Only in general builds: the state has a single candidate.
    lowest, highest : in, ``index_bits`` for each of ``2**state_bits`` exogenous states
        Only in general builds: the lowest and the highest candidate of each state; all others are ignored.
    bounds_write : in, 4 bits
        Only in general builds: byte strobes of the host's writes of candidates (:mod:`beltline.hw.interface.bounds`),
        by the number of the state in the lane. Each state then chooses among its own candidates.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        super().__init__(parameters.ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters, build = self.parameters, self.parameters.build
        m.submodules.passes = passes = Passes(parameters)
        m.submodules.check = check = Check(CheckParameters(build))
        m.submodules.judge = judge = Judge(build)
        m.submodules.search = search = LocalSearch(parameters.search)
        m.submodules.patch = patch = Patch(PatchParameters(build))
        m.submodules.values = values = Values(parameters)
        m.submodules.tables = tables = Tables(parameters)
        m.submodules.expects = expects = Expects(parameters)
        m.submodules.rows = rows = Rows(parameters)
        # An input of a unit with the name of an input of the lane is connected to it.
        for unit in (passes, check, judge, search, patch, values, tables, expects, rows):
            for name in sorted(unit.signature.members.keys() & self.signature.members.keys()):
                own, outer = unit.signature.members[name], self.signature.members[name]
                if own.is_port and own.flow is In and outer.flow is In:
                    m.d.comb += getattr(unit, name).eq(getattr(self, name))
        last_state = Signal(build.state_bits)
        m.d.sync += last_state.eq(self.states - 1)
        # A register for the lane's last state, which shortens the path to the control of passes.
        last = Signal(len(self.count))
        m.d.sync += last.eq(self.count - 1)
        m.d.comb += [
            passes.checked.eq(judge.valid & (judge.position == last)),
            passes.any_mark.eq(judge.any_mark),
            passes.search_busy.eq(search.busy),
            passes.patch_busy.eq(patch.busy),
            passes.works.eq(self._works(m, judge, patch, expects)),
            check.start.eq(passes.start_check),
            check.last_state.eq(last_state),
            judge.last_state.eq(last_state),
            judge.check_valid.eq(check.valid),
            judge.check_stays.eq(check.stays),
            judge.check_outside.eq(check.outside),
            judge.check_position.eq(check.position),
            judge.check_value.eq(check.value),
            judge.check_old.eq(check.old),
            search.start.eq(passes.start_search),
            search.last_state.eq(last_state),
            search.mark_valid.eq(judge.valid),
            search.mark_point.eq(judge.point),
            search.mark_state.eq(judge.state),
            search.mark.eq(~judge.stays),
            patch.start.eq(passes.start_patch),
            patch.clear.eq(self.go),
            patch.note_valid.eq(judge.valid & judge.point_ends),
            patch.note.eq(judge.note),
        ]
        self._tables(m, passes, check, judge, search, patch, tables)
        m.d.comb += [
            *(
                getattr(values, f"check_{name}").eq(getattr(judge, name))
                for name in ("state", "position", "value", "old")
            ),
            values.check_valid.eq(judge.valid & judge.stays),
            *(
                getattr(values, f"search_{name}").eq(getattr(search, name))
                for name in ("valid", "state", "position", "value", "old")
            ),
            tables.written.eq(values.written),
            tables.place.eq(values.place),
            tables.new.eq(values.new),
            expects.check_valid.eq(Const(0, 1) if build.general else judge.valid),
            expects.check_point.eq(judge.point),
            expects.check_note.eq(judge.note),
            expects.new.eq(values.new),
            expects.patch_valid.eq(patch.valid),
            expects.patch_point.eq(patch.point),
            *(getattr(rows, name).eq(getattr(expects, name)) for name in ("write", "word", "row", "ev")),
            rows.bank.address.eq(self.bank.address),
            self.bank.data.eq(rows.bank.data),
            self.word.eq(tables.word),
            self.done.eq(passes.done),
            *(
                getattr(self, name).eq(getattr(values, name))
                for name in ("norm", "sample_valid", "sample_state", "sample")
            ),
        ]
        scan = self._proof(m, passes, search, patch, values, tables, expects, last_state)
        infeasible: Value = search.valid & search.infeasible
        if build.general:
            self._share(m, passes, search, tables, scan)
            infeasible = self._at_end(m, passes, expects.nothing)
            m.d.comb += [
                scan.forced.eq(self.forced),
                judge.check_none.eq(check.none),
                values.check_none.eq(judge.none),
                values.search_none.eq(search.infeasible),
                *(
                    getattr(unit, name).eq(getattr(tables, name))
                    for unit in (search, scan)
                    for name in ("least", "most")
                ),
            ]
        m.d.sync += [
            self.infeasible.eq(infeasible),
            self.saturated.eq(
                (judge.valid & judge.stays & judge.outside)
                | (search.valid & search.outside)
                | search.over
                | (values.written & values.beyond)
                | self._at_end(m, passes, expects.lost)
                | scan.saturated
            ),
        ]
        units = [
            (check.fetch, ~passes.searching & ~passes.scanning),
            (search.fetch, passes.searching),
            (scan.fetch, passes.scanning),
        ]
        share(m, self.fetch, units)
        return m

    def _works(self, m: Module, judge: Judge, patch: Patch, expects: Expects) -> Value:
        """Return whether a value enters the pipeline to the expectation, or the expectation takes a turn."""
        build = self.parameters.build
        if not build.general:
            return judge.valid | patch.valid
        last_turn = Signal(build.turn_bits)
        m.d.sync += last_turn.eq((self.states - 1)[COLUMN_BITS:])
        m.d.comb += [patch.last_turn.eq(last_turn), expects.last_turn.eq(last_turn)]
        # Values are longer in the unit of the log-sum than the lane waits after a turn.
        filling = Signal(range(self.parameters.to_turns + 1))
        with m.If(patch.valid):
            m.d.sync += filling.eq(self.parameters.to_turns)
        with m.Elif(filling != 0):
            m.d.sync += filling.eq(filling - 1)
        return patch.valid | expects.active | (filling != 0)

    def _tables(
        self,
        m: Module,
        passes: Passes,
        check: Check,
        judge: Judge,
        search: LocalSearch,
        patch: Patch,
        tables: Tables,
    ) -> None:
        """Connect the passes to the lane's tables of its own states."""
        m.d.comb += [
            *(getattr(tables, name).eq(getattr(passes, name)) for name in ("checking", "searching")),
            tables.patching.eq(passes.patching),
            tables.check_choice.eq(check.choice_address),
            tables.check_cached.eq(check.cached_address),
            tables.check_old.eq(check.old_address),
            tables.search_wealth.eq(search.wealth_address),
            tables.search_choice.eq(search.choice_address),
            tables.search_old.eq(search.old_address),
            tables.patch_position.eq(patch.position),
            check.choice_data.eq(tables.choice),
            check.cached_data.eq(tables.cached),
            check.old_data.eq(tables.value),
            search.wealth_data.eq(tables.wealth),
            search.choice_data.eq(tables.choice),
            search.old_data.eq(tables.value),
            tables.found.eq(search.valid),
            tables.found_position.eq(search.position),
            tables.found_choice.eq(search.choice),
            tables.found_cached.eq(search.cached),
        ]

    def _proof(
        self,
        m: Module,
        passes: Passes,
        search: LocalSearch,
        patch: Patch,
        values: Values,
        tables: Tables,
        expects: Expects,
        last_state: Value,
    ) -> Scan:
        """Add the units of proof rounds: a scan, and the borders with the neighbouring lanes."""
        p = Pipeline(m)
        build = self.parameters.build
        m.submodules.scan = scan = Scan(ScanParameters(build))
        m.submodules.borders = borders = Borders(build)
        better, rounds = Signal(), Signal()
        with m.If(self.go | self.round):
            m.d.sync += rounds.eq(self.round)
        with m.If(scan.result & scan.moved):
            m.d.sync += better.eq(1)
        with m.If(passes.start_scan):
            m.d.sync += better.eq(0)
        m.d.comb += [
            passes.scan_busy.eq(scan.busy),
            passes.better.eq(better),
            passes.moved.eq(search.valid & search.moved & ~self.cold & ~passes.repairing),
            # A repaired state was counted as retired before.
            self.retired.eq(values.retired & ~rounds),
            self.met.eq(passes.met | (self.points == 0)),
            self.better.eq(better),
            self.crossed.eq(scan.crossed),
            scan.start.eq(passes.start_scan),
            *(
                getattr(scan, name).eq(getattr(self, name))
                for name in ("divide", "odd", "points", "states", "point_shift")
            ),
            scan.last_state.eq(last_state),
            scan.last_position.eq(borders.last_position),
            scan.write.eq(borders.write),
            scan.below.eq(borders.below),
            scan.above.eq(borders.above),
            scan.own.eq(tables.choice),
            scan.below_data.eq(tables.below),
            scan.above_data.eq(tables.above),
            tables.scanning.eq(passes.scanning),
            tables.scan_wealth.eq(scan.wealth_address),
            tables.scan_choice.eq(scan.own_address),
            tables.scan_below.eq(scan.below_address),
            tables.scan_above.eq(scan.above_address),
            tables.better.eq(scan.moved),
            tables.found_position.eq(Mux(passes.scanning, scan.of.position, search.position)),
            tables.found_choice.eq(Mux(passes.scanning, scan.choice, search.choice)),
            search.restart.eq(self.go | self.round),
            search.cold.eq(self.cold & ~passes.repairing),
            search.force.eq(passes.unchecked & ~passes.repairing),
            search.exact.eq(passes.repairing),
            search.set.eq(scan.moved),
            search.set_point.eq(scan.of.point),
            search.set_state.eq(scan.of.state),
            search.lent.eq(passes.scanning),
            search.lent_x.eq(scan.x),
            search.lent_ev.eq(scan.ev),
            scan.objective.eq(search.lent_objective),
            scan.feasible.eq(search.lent_feasible),
            scan.over.eq(search.lent_over),
            borders.write.eq(tables.found | tables.better),
            borders.position.eq(tables.found_position),
            borders.choice.eq(tables.found_choice),
            borders.whole.eq(self.divide & self.odd),
            borders.hold.eq(scan.busy),
            *(getattr(borders, name).eq(getattr(self, name)) for name in borders.of_lane),
            self.first.eq(borders.first),
            self.last.eq(borders.last),
        ]
        if build.general:
            m.d.comb += [scan.at_begin.eq(borders.at_begin), scan.at_end.eq(borders.at_end)]
        # After a repair the patch reads all states once more, and the norm is taken of these values.
        counts = p.valid(p.input(patch.valid & passes.repaired), READ_LATENCY)
        of_patch = p.delay(p.input(Cat(patch.state[: build.state_bits], patch.position)), READ_LATENCY).value
        m.d.comb += [
            patch.force.eq(Const(1, 1) if build.general else self.prologue | passes.unchecked | passes.repaired),
            expects.read.eq(Mux(self.prologue, tables.value, tables.fresh)),
            values.again.eq(counts),
            values.clear.eq(passes.start_patch & passes.repaired),
        ]
        with m.If(counts):
            m.d.comb += [
                values.check_valid.eq(1),
                Cat(values.check_state, values.check_position).eq(of_patch),
                values.check_value.eq(tables.fresh),
                values.check_old.eq(tables.value),
            ]
        return scan

    def _share(self, m: Module, passes: Passes, search: LocalSearch, tables: Tables, scan: Scan) -> None:
        """Connect the brackets that lanes share."""
        m.d.comb += [
            *(getattr(scan, name).eq(getattr(self, name)) for name in ("sharing", "confirmed", "given")),
            scan.given_bracket.eq(self.given_bracket),
            scan.wealth.eq(tables.wealth),
            self.sent.eq(scan.sent),
            self.sent_bracket.eq(scan.sent_bracket),
        ]
        with m.If(self.sharing):
            # What is found is of another lane's state.
            m.d.comb += [search.wealth_data.eq(scan.given_wealth), tables.better.eq(0), search.set.eq(0)]
            m.d.comb += passes.better.eq(0)

    def _at_end(self, m: Module, passes: Passes, flag: Value) -> Value:
        """Return whether ``flag`` was high in this pass, reported when the pass ends.

        Flags from before a patch that computes all points again are dropped.
        """
        found = Signal()
        with m.If(flag):
            m.d.sync += found.eq(1)
        with m.If(self.go | (passes.start_patch & passes.repaired)):
            m.d.sync += found.eq(0)
        return found & passes.settled
