"""Brackets that lanes share: how a lane sends and receives them, clock by clock, against plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.lib import data

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.brackets import Brackets
from beltline.hw.sweep.scan.parameters import SHARED_JOBS, ScanParameters
from beltline.hw.sweep.scan.share import Share
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=8, lanes=4, general=True)
PARAMETERS = ScanParameters(BUILD)
SETS = 3


def word_of(layout: data.StructLayout, **fields: int) -> int:
    return sum(word << layout[name].offset for name, word in fields.items())


def fields_of(layout: data.StructLayout, word: int) -> dict[str, int]:
    return {name: word >> field.offset & ((1 << field.width) - 1) for name, field in layout}


def job_of(rng: random.Random) -> tuple[dict[str, int], int]:
    """Return own choice and bracket, and the word of the job with a random state."""
    parts = {name: rng.randrange(BUILD.grid) for name in ("own", "lo", "hi")}
    return parts, word_of(PARAMETERS.job, of=rng.getrandbits(PARAMETERS.state.size), **parts)


@pytest.mark.gateware
def test_brackets_travel_with_their_cash_on_hand(clocks: Clocks) -> None:
    rng = random.Random(2)
    names = ("restart", "send", "job", "wealth", "given", "given_bracket", "address")
    columns: dict[str, list[int]] = {name: [] for name in names}
    sent: list[int | None] = [None]
    received: list[tuple[int, int, dict[str, int]] | None] = [None]
    stored: dict[int, int] = {}
    reads: dict[int, int] = {}
    settled: list[int] = []

    def clock(**given: int) -> None:
        for name, column in columns.items():
            column.append(given.get(name, 0))

    for _ in range(60):
        clock(restart=1)
        sent.append(None)
        received.append(None)
        stored, settled, number = {}, [], 0
        for _ in range(40):
            row: dict[str, int] = {"wealth": rng.getrandbits(64), "job": job_of(rng)[1]}
            row |= {"send": int(rng.random() < 0.5), "given": int(number < SHARED_JOBS and rng.random() < 0.3)}
            bracket = {name: rng.randrange(BUILD.grid) for name in ("own", "lo", "hi")}
            bracket |= {"state": rng.randrange(3), "wealth": rng.choice((0, 2**64 - 1, rng.getrandbits(64)))}
            row["given_bracket"] = word_of(PARAMETERS.shared, **bracket)
            row["address"] = rng.choice(settled) if settled else 0
            if settled:
                reads[len(columns["send"]) + READ_LATENCY] = stored[row["address"]]
            job = fields_of(PARAMETERS.job, row["job"])
            state = fields_of(PARAMETERS.state, job["of"])["state"]
            own = {name: job[name] for name in ("own", "lo", "hi")}
            word = word_of(PARAMETERS.shared, state=state, wealth=row["wealth"], **own)
            sent.append(word if row["send"] else None)
            received.append((number, len(columns["send"]), bracket) if row["given"] else None)
            if row["given"]:
                stored[number] = bracket["wealth"]
                number += 1
            settled = [k for k in stored if k < number - 1]
            clock(**row)
    found = clocks(Share(PARAMETERS), columns)
    seen = 0
    for t in range(1, len(columns["send"])):
        assert found["sent"][t] == (sent[t] is not None)
        assert found["sent_bracket"][t] == (sent[t] or 0)
        came = received[t]
        assert found["received"][t] == (came is not None)
        if came is not None:
            number, _, bracket = came
            job = fields_of(PARAMETERS.job, found["received_job"][t])
            of = fields_of(PARAMETERS.state, job["of"])
            assert (of["position"], of["state"]) == (number, bracket["state"])
            assert all(job[name] == bracket[name] for name in ("own", "lo", "hi"))
            seen += 1
        if t in reads:
            assert found["given_wealth"][t] == reads[t], t
    assert seen > 200
    assert len(reads) > 500


class Round:
    """Operands of one round of :class:`Brackets`, with the choices of its states at the right clocks."""

    def __init__(self, rng: random.Random, points: int, states: int, at_begin: int, at_end: int) -> None:
        self.points, self.states, self.at_begin, self.at_end = points, states, at_begin, at_end
        # Choices that rise by a point or remain, but for a jump.
        self.choices = [rng.randrange(20)]
        for point in range(1, points):
            self.choices.append(self.choices[-1] + (9 if point == 5 else rng.randrange(2)))
        self.below = [0 if at_begin else rng.randrange(self.choices[0] + 1) for _ in range(4)]
        self.above = [BUILD.grid - 1 if at_end else rng.randrange(self.choices[-1], BUILD.grid) for _ in range(4)]

    def bracket(self, point: int, s: int) -> tuple[int, int, int, bool]:
        """Return the choice, its neighbours' choices, and whether the bracket must be evaluated."""
        own = self.choices[point]
        low = self.choices[point - 1] if point else self.below[s]
        high = self.choices[point + 1] if point + 1 < self.points else self.above[s]
        return own, low, high, own - low > 1 or high - own > 1


@pytest.mark.gateware
@pytest.mark.parametrize("ends", [(1, 0), (0, 1), (0, 0)], ids=["first", "last", "middle"])
def test_a_lane_sends_its_ends_and_skips_them_if_they_are_confirmed(clocks: Clocks, ends: tuple[int, int]) -> None:
    rng = random.Random(ends[0] + 2 * ends[1])
    names = ("start", "divide", "odd", "write", "points", "states", "last_state", "point_shift", "last_position")
    names += ("below", "above", "own", "below_data", "above_data", "pop", "result")
    names += ("forced", "sharing", "confirmed", "at_begin", "at_end", "received", "received_job", "least", "most")
    columns: dict[str, list[int]] = {name: [] for name in names}
    wanted: list[tuple[str, int, Any]] = []
    confirmations = set()
    for number in range(40):
        points, states = rng.choice((1, 2, 3, 16)) if ends[1] else 16, rng.randint(1, 2)
        one = Round(rng, points, states, *ends)
        # A state with a single candidate is skipped, but not the only one, and no two in turn.
        forced = rng.choice((0, 0, 1, 2, 3))
        read = {(2, 0): [0, 1], (2, 1): [1], (2, 2): [0], (2, 3): [1]}.get((states, forced), [0])
        confirmed, written = rng.randrange(2), number % 3 == 0
        # With 2 states the queue of an ordinary round would be full, and states would wait.
        for share in (1, 0)[: 3 - states]:
            base = len(columns["start"])
            order = [(points - 1, s) for s in read] + [(0, s) for s in read]
            if not share:
                order = [(point, s) for point in range(0, points, 2) for s in read]
            length = 16 + len(order) * (1 if share else 8) + PARAMETERS.shared_clocks + 30
            rows: list[dict[str, int]] = [
                {"points": points, "states": states, "last_state": states - 1, "point_shift": 4, "sharing": share}
                | {"last_position": (points - 1) * states, "at_begin": ends[0], "at_end": ends[1]}
                | {"confirmed": confirmed * (1 - share), "forced": forced, "most": BUILD.grid - 1}
                | {
                    name: sum(word << BUILD.index_bits * s for s, word in enumerate(getattr(one, name)))
                    for name in ("below", "above")
                }
                for _ in range(length)
            ]
            rows[0]["start"] = 1
            skips = confirmed and not written
            pushed = []
            for k, (point, s) in enumerate(order):
                own, low, high, whole = one.bracket(point, s)
                clock = SETS + k
                rows[clock + READ_LATENCY] |= {"own": own, "below_data": low, "above_data": high}
                wanted.append(("own_address", base + clock, point * states + s))
                if share:
                    is_end = ends[1] if k < len(read) else ends[0]
                    wanted.append(("send", base + clock + PARAMETERS.bracket_clocks, int(whole and bool(is_end))))
                    at = clock + PARAMETERS.bracket_clocks - READ_LATENCY
                    wanted.append(("send_address", base + at, point * states + s))
                    if whole and is_end:
                        of = word_of(PARAMETERS.state, position=point * states + s, point=point, state=s)
                        job = word_of(PARAMETERS.job, of=of, own=own, lo=low, hi=high)
                        wanted.append(("send_job", base + clock + PARAMETERS.bracket_clocks, job))
                else:
                    last = ends[1] and point == points - 1 and points > 1
                    skipped = skips and ((ends[0] and point == 0) or last)
                    if whole and not skipped:
                        of = word_of(PARAMETERS.state, position=point * states + s, point=point, state=s)
                        pushed.append(word_of(PARAMETERS.job, of=of, own=own, lo=low, hi=high))
                        rows[clock + PARAMETERS.bracket_clocks + 2]["pop"] = 1
                        rows[clock + PARAMETERS.bracket_clocks + 4]["result"] = 1
                    elif whole:
                        confirmations.add("skipped")
            if share:
                # A bracket of another lane passes through the queue, in the last clock in which one may arrive.
                at = SETS + len(order) - 1 + PARAMETERS.shared_clocks
                jobs = [job_of(rng)[1] for _ in range(rng.randrange(2))]
                for job in jobs:
                    rows[at] |= {"received": 1, "received_job": job}
                    wanted += [("valid", base + at + 2, 1), ("job", base + at + 2, job)]
                    rows[at + 4] |= {"pop": 1}
                    rows[at + 9] |= {"result": 1}
                last_busy = at + (9 if jobs else 0)
                wanted += [("busy", base + last_busy + 1, 1), ("busy", base + last_busy + 2, 0)]
                if written:
                    rows[-1]["write"] = 1
            else:
                wanted.append(("jobs", base, pushed))
                # The next round has other choices, so they are written.
                rows[-1]["write"] = 1
            for row in rows:
                for name, column in columns.items():
                    column.append(row.get(name, 0))
    found = clocks(Brackets(PARAMETERS), columns)
    sends = 0
    for name, t, word in wanted:
        if name == "jobs":
            pops = [k for k in range(t, len(columns["pop"])) if columns["pop"][k]][: len(word)]
            assert [found["job"][k] for k in pops] == word
        else:
            assert found[name][t] == word, (name, t)
            sends += name == "send" and word
    # Nothing else is sent.
    assert sum(found["send"]) == sends
    assert (sends > 20) == any(ends)
    assert confirmations == ({"skipped"} if any(ends) else set())
