"""A lane of the sweep engine: its part of every table, and the passes of a sweep over it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.check import Check, CheckParameters
from beltline.hw.sweep.lane.expects import Expects
from beltline.hw.sweep.lane.judge import Judge
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.lane.rows import Rows
from beltline.hw.sweep.lane.tables import Tables
from beltline.hw.sweep.lane.values import Values
from beltline.hw.sweep.patch import Patch, PatchParameters
from beltline.hw.sweep.scan.borders import Borders
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan.scan import Scan
from beltline.hw.sweep.walk.walk import Walk

MODULE = "beltline_lane"


class Lane(wiring.Component):
    """:class:`LaneParameters` in gateware.

    Attributes
    ----------
    a, b, negative, log, shift
        The utility's constants.
    points, count, states, last_index, first_point, part_shift
        Of the problem: the lane's points and states, ``N_z``, the last candidate, the lane's first point,
        :class:`beltline.hw.sweep.walk.walk.Walk`'s parts.
        They stand during a run, as do the constants.
    weight_write, weight_row, weight_column
        See :class:`beltline.hw.arithmetic.expectation.Expectation`; the weight is ``data``.
    x_write, wealth_write, value_write, write_address, data
        The host's writes, with a bit for each byte; the address is the point, or the number of the state in the lane.
        None may come during a run.
    read_address, read_wealth, read_policy, word
        The host's reads: ``word`` comes ``READ_LATENCY + 1`` clocks behind its address, from the wealth, the choices or
        else the values, as the two flags say ``READ_LATENCY`` clocks behind the address.
    go, prologue, cold, fixed, seek, above, half
        ``go`` begins a pass: a prologue or a sweep, in which ``cold`` has every state walked and ``fixed`` none. A run
        begins with a prologue and a cold sweep. In a pass with ``seek`` every state is walked from below, or
        from ``above``, and nothing changes.
        ``half`` is the one that is read. All but ``go`` must stand until ``done``.
    shift_after, shift_before
        Signed 64 bits for each exogenous state, which also stand: what is added to the new values, and to the old ones
        that they are compared with.
    sample_place, refers, sample_valid, sample_state, sample
        The number of state 0 of the reference point, and whether it is this lane's. The changes of value of its states
        come as ``sample``, signed 64 bits, before ``done``.
    done, norm
        ``done`` falls in the clock behind ``go``, unless the lane has no point, and rises when everything has been
        written; ``norm`` is final then.
    retired, saturated, infeasible, other
        A state has its value. A word left its range, or a state has no choice that it can afford. In a pass that seeks,
        a peak is not the state's choice.
    fetch, bank
        To the buses, and from them.
    values
        In, of a build with ``proof``: which copy of the values is that before the sweep.
    round, divide, odd, finish
        In, of a build with ``proof``: ``round`` begins a round over the odd points, the even ones, or one that divides,
        and ``finish`` ends the proof; ``divide`` and ``odd`` stand during a round. The clock behind ``round`` is the
        first of a turn, on the buses and in the lane's ring.
    met, better, crossed
        Out, of a build with ``proof``: the lane waits for a round or the end of the proof; and what it has seen in the
        last round: a better choice, or choices that cross.
    begins, ends, keeps
        In, of a build with alternatives, a bit for each exogenous state: its marks
        (:class:`beltline.hw.interface.groups.Mark`), which stand during a run. ``shift_after`` is then what states add
        to their values in every sweep, and ``shift_before`` 0. ``infeasible`` says that no alternative of a state can
        afford a choice, once at the end of a pass.
    point_shift, lower_last, upper_first, first, last
        Of a build with ``proof``: see :class:`beltline.hw.sweep.scan.borders.Borders`; a full lane has
        ``2**point_shift`` points.
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
        m.submodules.walk = walk = Walk(parameters.walk)
        m.submodules.patch = patch = Patch(PatchParameters(build))
        m.submodules.values = values = Values(parameters)
        m.submodules.tables = tables = Tables(parameters)
        m.submodules.expects = expects = Expects(parameters)
        m.submodules.rows = rows = Rows(parameters)
        # An input of a unit that is called as one of the lane is that input.
        for unit in (passes, check, judge, walk, patch, values, tables, expects, rows):
            for name in sorted(unit.signature.members.keys() & self.signature.members.keys()):
                own, outer = unit.signature.members[name], self.signature.members[name]
                if own.is_port and own.flow is In and outer.flow is In:
                    m.d.comb += getattr(unit, name).eq(getattr(self, name))
        last_state = Signal(build.state_bits)
        m.d.sync += last_state.eq(self.states - 1)
        m.d.comb += [
            passes.checked.eq(judge.valid & (judge.position == self.count - 1)),
            passes.any_mark.eq(judge.any_mark),
            passes.moved.eq(walk.valid & walk.moved & ~self.cold),
            passes.walk_busy.eq(walk.busy),
            passes.patch_busy.eq(patch.busy),
            passes.works.eq(judge.valid | patch.valid),
            check.start.eq(passes.start_check),
            check.last_state.eq(last_state),
            judge.last_state.eq(last_state),
            judge.check_valid.eq(check.valid),
            judge.check_stays.eq(check.stays),
            judge.check_outside.eq(check.outside),
            judge.check_position.eq(check.position),
            judge.check_value.eq(check.value),
            judge.check_old.eq(check.old),
            walk.start.eq(passes.start_walk),
            walk.restart.eq(self.go),
            walk.last_state.eq(last_state),
            walk.force.eq(passes.unchecked),
            walk.mark_valid.eq(judge.valid),
            walk.mark_point.eq(judge.point),
            walk.mark_state.eq(judge.state),
            walk.mark.eq(~judge.stays),
            patch.start.eq(passes.start_patch),
            patch.clear.eq(self.go),
            patch.force.eq(self.prologue | passes.unchecked),
            patch.note_valid.eq(judge.valid & judge.point_ends),
            patch.note.eq(judge.note),
        ]
        self._tables(m, passes, check, walk, patch, tables)
        m.d.comb += [
            *(
                getattr(values, f"check_{name}").eq(getattr(judge, name))
                for name in ("state", "position", "value", "old")
            ),
            values.check_valid.eq(judge.valid & judge.stays),
            *(
                getattr(values, f"walk_{name}").eq(getattr(walk, name))
                for name in ("valid", "state", "position", "value", "old")
            ),
            tables.written.eq(values.written),
            tables.place.eq(values.place),
            tables.new.eq(values.new),
            expects.check_valid.eq(judge.valid),
            expects.check_point.eq(judge.point),
            expects.check_note.eq(judge.note),
            expects.new.eq(values.new),
            expects.patch_valid.eq(patch.valid),
            expects.patch_point.eq(patch.point),
            expects.read.eq(tables.value),
            *(getattr(rows, name).eq(getattr(expects, name)) for name in ("write", "word", "row", "ev")),
            rows.bank.address.eq(self.bank.address),
            self.bank.data.eq(rows.bank.data),
            self.word.eq(tables.word),
            self.done.eq(passes.done),
            self.other.eq(walk.other),
            *(
                getattr(self, name).eq(getattr(values, name))
                for name in ("norm", "retired", "sample_valid", "sample_state", "sample")
            ),
        ]
        lost, over = expects.lost, Const(0, 1)
        fetches: list[tuple[Any, Value]] = [(check, ~passes.walking), (walk, passes.walking)]
        if build.proof:
            scan = self._proof(m, passes, walk, patch, values, tables, expects, last_state)
            lost, over = self._last_lost(m, passes, expects), scan.saturated
            fetches = [(check, ~passes.walking & ~passes.scanning), fetches[1], (scan, passes.scanning)]
        infeasible: Value = walk.valid & walk.infeasible
        if build.alternatives:
            infeasible = self._last_nothing(m, passes, expects)
            m.d.comb += [
                judge.check_none.eq(check.none),
                values.check_none.eq(judge.none),
                values.walk_none.eq(walk.infeasible),
            ]
        m.d.sync += [
            self.infeasible.eq(infeasible),
            self.saturated.eq(
                (judge.valid & judge.stays & judge.outside)
                | (walk.valid & walk.outside)
                | walk.over
                | (values.written & values.beyond)
                | lost
                | over
            ),
        ]
        self._fetch(m, fetches)
        return m

    def _tables(self, m: Module, passes: Passes, check: Check, walk: Walk, patch: Patch, tables: Tables) -> None:
        """What the passes read and write of the lane's own states."""
        m.d.comb += [
            *(getattr(tables, name).eq(getattr(passes, name)) for name in ("checking", "walking", "patching")),
            tables.check_choice.eq(check.choice_address),
            tables.check_kept.eq(check.kept_address),
            tables.check_old.eq(check.old_address),
            tables.walk_wealth.eq(walk.wealth_address),
            tables.walk_choice.eq(walk.choice_address),
            tables.walk_old.eq(walk.old_address),
            tables.patch_position.eq(patch.position),
            check.choice_data.eq(tables.choice),
            check.kept_data.eq(tables.kept),
            check.old_data.eq(tables.value),
            walk.wealth_data.eq(tables.wealth),
            walk.choice_data.eq(tables.choice),
            walk.old_data.eq(tables.value),
            tables.found.eq(walk.valid),
            tables.found_position.eq(walk.position),
            tables.found_choice.eq(walk.choice),
            tables.found_kept.eq(walk.kept),
        ]

    def _fetch(self, m: Module, units: list[tuple[Any, Value]]) -> None:
        """The units share the lane's port to the buses, each while it is active."""
        for number, (unit, active) in enumerate(units):
            # The first one while none of the others is.
            with m.If(active if number else Const(1, 1)):
                m.d.comb += [
                    self.fetch.request.eq(unit.fetch.request),
                    self.fetch.row.eq(unit.fetch.row),
                    self.fetch.inner.eq(unit.fetch.inner),
                ]
            m.d.comb += [
                unit.fetch.turn.eq(self.fetch.turn),
                unit.fetch.taken.eq(self.fetch.taken & active),
                unit.fetch.valid.eq(self.fetch.valid & active),
                unit.fetch.data.eq(self.fetch.data),
            ]

    def _proof(
        self,
        m: Module,
        passes: Passes,
        walk: Walk,
        patch: Patch,
        values: Values,
        tables: Tables,
        expects: Expects,
        last_state: Value,
    ) -> Scan:
        """The rounds of a proof: a scan, whose better choices are walked from, between the borders of the lane."""
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
            passes.moved.eq(walk.valid & walk.moved & ~self.cold & ~passes.repairing),
            # What is repaired has retired before.
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
            tables.found_position.eq(Mux(passes.scanning, scan.of.position, walk.position)),
            tables.found_choice.eq(Mux(passes.scanning, scan.choice, walk.choice)),
            walk.restart.eq(self.go | self.round),
            walk.cold.eq(self.cold & ~passes.repairing),
            walk.force.eq(passes.unchecked & ~passes.repairing),
            walk.exact.eq(passes.repairing),
            walk.set.eq(scan.moved),
            walk.set_point.eq(scan.of.point),
            walk.set_state.eq(scan.of.state),
            walk.lent.eq(passes.scanning),
            walk.lent_x.eq(scan.x),
            walk.lent_ev.eq(scan.ev),
            scan.objective.eq(walk.lent_objective),
            scan.feasible.eq(walk.lent_feasible),
            scan.over.eq(walk.lent_over),
            borders.write.eq(tables.found | tables.better),
            borders.position.eq(tables.found_position),
            borders.choice.eq(tables.found_choice),
            borders.hold.eq(scan.busy),
            *(
                getattr(borders, name).eq(getattr(self, name))
                for name in ("points", "count", "states", "first_point", "last_index", "lower_last", "upper_first")
            ),
            self.first.eq(borders.first),
            self.last.eq(borders.last),
        ]
        # Where choices were repaired, all states are read once more, and count for the norm.
        counts = p.valid(p.input(patch.valid & passes.repaired), READ_LATENCY)
        of_patch = p.delay(p.input(Cat(patch.state[: build.state_bits], patch.position)), READ_LATENCY).value
        m.d.comb += [
            patch.force.eq(self.prologue | passes.unchecked | passes.repaired),
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

    def _last_lost(self, m: Module, passes: Passes, expects: Expects) -> Value:
        """Whether an expected value was cut, told when the pass ends: those that are made anew do not count."""
        lost = Signal()
        with m.If(expects.lost):
            m.d.sync += lost.eq(1)
        with m.If(self.go | (passes.start_patch & passes.repaired)):
            m.d.sync += lost.eq(0)
        return lost & passes.settled

    def _last_nothing(self, m: Module, passes: Passes, expects: Expects) -> Value:
        """Whether a state has no alternative, told when the pass ends, as :meth:`_last_lost` tells of what was cut."""
        nothing = Signal()
        with m.If(expects.nothing):
            m.d.sync += nothing.eq(1)
        with m.If(self.go | (passes.start_patch & passes.repaired)):
            m.d.sync += nothing.eq(0)
        return nothing & passes.settled


class LaneInstance(wiring.Component):
    """An instance of the Verilog module of :class:`Lane`, with the same ports and ``reset``.

    A machine has up to 64 lanes; as instances they are generated once, and a simulator compiles them once.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        super().__init__({**parameters.ports, "reset": In(1)})

    def elaborate(self, platform: object) -> Instance:
        ports: dict[str, Any] = {}
        for path, member, value in self.signature.flatten(self):
            if path != ("reset",):
                ports[f"{'o' if member.flow is Out else 'i'}_{'_'.join(map(str, path))}"] = value
        return Instance(MODULE, i_clk=ClockSignal(), i_rst=ResetSignal() | self.reset, **ports)
