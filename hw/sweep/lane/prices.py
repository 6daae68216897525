"""The units of a lane that compute the prices of bonds, and their connections to its other units."""

from __future__ import annotations

from typing import Any, NamedTuple

from amaranth.hdl import Module, Mux, Value

from beltline.hw.sweep.lane.expects import Expects
from beltline.hw.sweep.lane.passes import Passes
from beltline.hw.sweep.patch import Patch
from beltline.hw.sweep.prices.descent import Descent
from beltline.hw.sweep.prices.least import Least


class Listed(NamedTuple):
    """What the pass reads that lists states for the expectation: a state, and whether such a pass is in progress.

    ``works`` is what the control of passes is told of ``valid`` in this clock.
    """

    valid: Value
    works: Value
    point: Value
    position: Value
    reading: Value


def add_prices(m: Module, lane: Any, passes: Passes, patch: Patch, expects: Expects) -> tuple[Listed, list[Value]]:
    """Add the units that compute prices: a list of states, and the running minima of costs.

    Returns what the patch or this list reads, and what is written to the rows.
    """
    build = lane.parameters.build
    m.submodules.descent = descent = Descent(build)
    m.submodules.least = least = Least(lane.parameters)
    listing = passes.listing
    listed = Listed(
        patch.valid | descent.valid,
        patch.valid | descent.valid,
        Mux(listing, descent.point, patch.point),
        Mux(listing, descent.position, patch.position),
        passes.patching | listing,
    )
    m.d.comb += [
        descent.last_turn.eq(patch.last_turn),
        descent.start.eq(passes.start_list),
        *(getattr(descent, name).eq(getattr(lane, name)) for name in ("points", "count", "states")),
        passes.list_busy.eq(descent.busy),
        expects.patch_position.eq(listed.position),
        least.valid.eq(expects.price),
        least.state.eq(expects.price_state),
        least.point.eq(expects.price_point),
        least.cost.eq(expects.ev),
        *(getattr(least, name).eq(getattr(lane, name)) for name in ("storing", "points", "first_point", "priced")),
        *(
            getattr(least, f"upper_{name}").eq(getattr(lane, f"upper_{name}"))
            for name in ("valid", "state", "cost", "index")
        ),
        *(
            getattr(lane, f"lower_{name}").eq(getattr(least, f"lower_{name}"))
            for name in ("valid", "state", "cost", "index")
        ),
        lane.differs.eq(expects.differs),
    ]
    pairs = ((least.word, expects.word), (least.row, expects.row), (least.least, expects.ev))
    return listed, [expects.write | least.write, *(Mux(least.write, own, other) for own, other in pairs)]
