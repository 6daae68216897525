"""The states whose points' expectations a lane computes apart from the check: those of the patch or, in a build with
``overlap``, those that are listed while the local search is in progress.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value

from beltline.hw.sweep.lane.expects import Expects
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.lane.prices import Listed
from beltline.hw.sweep.lane.tables import Tables
from beltline.hw.sweep.patch import Patch
from beltline.hw.sweep.search.follow import DECISION_CLOCKS
from beltline.hw.sweep.search.local_search import LocalSearch


def listed_points(
    m: Module, passes: Passes, search: LocalSearch, patch: Patch, tables: Tables, expects: Expects
) -> Listed:
    """Return what the patch lists; with ``overlap``, connect the list of the points that the local search has finished,
    and return what it or the patch lists.

    With ``overlap`` the patch lists states in the prologue alone. Both read the second copy of the values.
    """
    sizes = search.parameters
    if not sizes.build.overlap:
        return Listed(patch.valid, patch.valid, patch.point, patch.position, passes.patching)
    # The value of a search's last state is written ``decided + 1 + SHIFT_CLOCKS`` clocks after the beginning of a turn.
    # It is read ``2**state_bits + DECISION_CLOCKS`` clocks after the beginning of the next one.
    assert sizes.clocks + (1 << sizes.build.state_bits) + DECISION_CLOCKS > sizes.decided + 1 + SHIFT_CLOCKS
    m.d.comb += [
        *(getattr(search, name).eq(getattr(patch, name)) for name in ("note_write", "note_row", "notes")),
        search.noted.eq(patch.note_valid & patch.note),
        passes.following.eq(search.following),
        expects.read.eq(tables.fresh),
    ]
    # The patch is reported a clock later, because it decides late in a clock.
    m.d.sync += passes.worked.eq(patch.valid)
    return Listed(
        patch.valid | search.listed,
        search.listed,
        Mux(search.listed, search.listed_point, patch.point),
        Mux(search.listed, search.listed_position, patch.position),
        passes.patching,
    )


def last_position(m: Module, count: Value) -> Signal:
    """Return the number of the lane's last state, from a register, which shortens the path to the control of passes."""
    last = Signal(len(count))
    m.d.sync += last.eq(count - 1)
    return last
