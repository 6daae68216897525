"""The next step of a local search, against a search for a peak in dictionaries."""

from __future__ import annotations

import random
from typing import Any

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.commit import Commit
from beltline.hw.sweep.search.parameters import PROBE, SearchParameters
from support.layouts import any_word, pack, unpack
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2), 8)
GREATEST_EXPONENT = 15
Fields = dict[str, Any]


def decide(old: Fields, given: Fields, candidate: Fields) -> tuple[Fields, bool]:
    """Return the search after its turn, and whether it has found its peak."""
    new = dict(old)
    if not (given["found"] or given["nowhere"]):
        return new, False
    # No candidate off the grid is better. A candidate below the best wins a tie, as the lowest of equals must.
    better = not given["nowhere"] and (not given["keeps"] if old["down"] else bool(given["rises"]))
    if old["first"]:
        return new | {"first": 0, "objective": given["objective"], "here": candidate}, False
    if better:
        here = {"index": given["probe"], "objective": given["objective"], "here": candidate, "streak": 1}
        # After a step of one point, the former best becomes the known neighbour of the new one.
        near = old["exponent"] == 0
        passed = {"above": old["here"]} if old["down"] else {"below": old["here"]}
        new |= here | passed | {"below_known": int(not old["down"] and near), "above_known": int(old["down"] and near)}
        if old["shrinks"]:
            new["exponent"] = max(old["exponent"] - 1, 0)
            new["shrinks"] = int(old["exponent"] > 1)
        elif old["streak"]:
            new["exponent"] = min(old["exponent"] + 1, GREATEST_EXPONENT)
        return new, False
    new |= {"streak": 0, "exponent": 0, "shrinks": 0}
    if old["exponent"]:
        if given["nowhere"]:
            new |= {"exponent": old["exponent"] - 1, "shrinks": 1}
        return new, False
    side, other = ("below", "above") if old["down"] else ("above", "below")
    new |= {side: candidate, f"{side}_known": 1, "down": 1 - old["down"]}
    return new, bool(old[f"{other}_known"])


def turned(old: Fields, given: Fields, candidate: Fields) -> tuple[Fields, bool, bool]:
    """Return the search with its waiting state, ``done`` and ``over``."""
    new, done = decide(old, given, candidate)
    if done:
        new |= {"active": 0, "shift": given["move"], "begun": 1}
    if old["waiting"] and (done or not old["active"]):
        clear = dict.fromkeys(("down", "exponent", "streak", "shrinks", "below_known", "above_known", "waiting"), 0)
        begin = given["begin_done"] if done else given["begin_idle"]
        new |= clear | {"active": 1, "item": old["next"], "index": begin, "first": 1}
    over = not new["active"] and not new["waiting"] and bool(given["exhausted"])
    return new | {"over": int(old["over"] or over)}, done, over


@pytest.mark.gateware
def test_decisions(clocks: Clocks) -> None:
    rng = random.Random(11)
    parameters = PARAMETERS
    layout = parameters.search
    bits = parameters.index_bits
    widths = {"probe": bits - 1, "objective": 65, "u": 64, "move": bits, "begin_done": bits, "begin_idle": bits}
    flags = ("found", "nowhere", "exhausted", "feasible", "rises", "keeps")
    rows = []
    for _ in range(6000):
        old = any_word(layout, rng)
        old["active"] = int(rng.random() < 0.8)
        old["first"] = int(rng.random() < 0.15)
        old["exponent"] = rng.choice((0, 0, 0, 1, 2, rng.randrange(16), GREATEST_EXPONENT))
        given = {name: rng.getrandbits(width) for name, width in widths.items()}
        given |= {name: rng.randrange(2) for name in flags}
        # Only an active search probes, on the grid or off it; at most one of the two comparisons holds.
        given["found"] &= old["active"]
        given["nowhere"] &= old["active"] & ~given["found"]
        given["keeps"] &= ~given["rises"]
        rows.append((old, given))
        beyond = old["above_known"] if old["down"] else old["below_known"]
        known = given["found"] or given["nowhere"]
        given["last"] = int(known and not old["first"] and not old["exponent"] and beyond)
    columns = {name: [given[name] for _, given in rows] for name in (*widths, *flags, "last")}
    columns["old"] = [pack(layout, old) for old, _ in rows]
    found = clocks(Commit(parameters), columns)
    seen = set()
    for k, (old, given) in enumerate(rows):
        candidate = {"u": given["u"], "feasible": int(given["feasible"] and not given["nowhere"])}
        new, done, over = turned(old, given, candidate)
        assert unpack(layout, found["next"][k]) == new, (k, old, given)
        assert found["next"][k] == pack(layout, new)
        known = given["found"] or given["nowhere"]
        assert (found["known"][k], found["done"][k], found["over"][k]) == (known, done, over), k
        assert found["candidate"][k] == pack(PROBE, candidate)
        seen.add((done, over, new["waiting"] < old["waiting"]))
    assert len(seen) == 6
