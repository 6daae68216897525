"""The datapath builder: many small datapaths in one component, each against Python's integers.

Operands change every clock and all results are delayed to one common clock by the times that the builder declares, so
that a result that is early or late by a clock is wrong.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from amaranth.back.rtlil import convert
from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import SEGMENT, SHIFTED, TILE_CLOCKS, Pipeline, Term, Timed
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Stream

WIDTHS = [1, 17, 18, 26, 27, 33, 52, 64, 72]
INPUTS = {f"in{width}{'s' if sign else 'u'}": Shape(width, sign) for width in WIDTHS for sign in (False, True)}
LATE = {"in33s": 3, "in17u": 1, "in64u": 7}
"""Ports whose word enters some clocks after the others."""

Words = dict[str, int]


@dataclass(frozen=True)
class Path:
    """A datapath: a function that builds it, and one that computes the integer whose low ``width`` bits it returns."""

    width: int
    build: Callable[[Pipeline, dict[str, Timed]], Timed]
    oracle: Callable[[Words], int]
    multiplies: bool = False


def product(a: str, b: str, width: int) -> Path:
    return Path(
        width,
        lambda p, x: p.total(p.products(x[a], x[b]), width),
        lambda v: v[a] * v[b],
        multiplies=True,
    )


def scaled(a: str, constant: int, shape: Shape, width: int) -> Path:
    """Return the path of a product with a constant, which the builder can see."""
    return Path(
        width,
        lambda p, x: p.total(p.products(x[a], Timed(Const(constant, shape), 0)), width, signed=True),
        lambda v: v[a] * constant,
        multiplies=True,
    )


def summed(terms: list[tuple[str, int, bool]], width: int, constant: int) -> Path:
    return Path(
        width,
        lambda p, x: p.total((Term(x[name], shift, negative) for name, shift, negative in terms), width, constant),
        lambda v: sum((-1) ** negative * (v[name] << shift) for name, shift, negative in terms) + constant,
    )


def dot(pairs: list[tuple[str, str, bool]], width: int, constant: int) -> Path:
    """Return the path of a sum of products, some subtracted, as a signed word without its lowest bits."""
    cut = min(5, width - 1)

    def build(p: Pipeline, x: dict[str, Timed]) -> Timed:
        terms = [Term(term.value, term.shift, negative) for a, b, negative in pairs for term in p.products(x[a], x[b])]
        # The result must stay signed, because the wider port extends its sign.
        return p.compute(lambda value: value >> cut, p.total(terms, width, constant, signed=True))

    def oracle(v: Words) -> int:
        exact = (sum((-1) ** negative * v[a] * v[b] for a, b, negative in pairs) + constant) % 2**width
        return (exact - (exact >> (width - 1) << width)) >> cut

    return Path(width + 8, build, oracle, multiplies=True)


def flipped(word: Value, mask: int) -> Value:
    """Return ``word`` with the bits of ``mask`` inverted, and the same sign."""
    result = (word ^ Const(mask, len(word)))[: len(word)]
    return result.as_signed() if word.shape().signed else result


def cascaded(a: str, b: str, masks: list[tuple[int, int]], width: int) -> Path:
    """Return the path of a sum of products whose operands are valid one after the other; the masks change them."""

    def build(p: Pipeline, x: dict[str, Timed]) -> Timed:
        pairs = []
        start = max(x[a].time, x[b].time)
        for k, of_pair in enumerate(masks):
            left, right = (p.delay(x[name], start + k - x[name].time) for name in (a, b))
            one, two = of_pair
            pairs.append((left.map(partial(flipped, mask=one)), right.map(partial(flipped, mask=two))))
        return p.total(p.chained_products(pairs), width, signed=True)

    def changed(v: Words, name: str, mask: int) -> int:
        shape = INPUTS[name]
        word = (v[name] ^ mask) % 2**shape.width
        return word - (word >> (shape.width - 1) << shape.width if shape.signed else 0)

    return Path(
        width,
        build,
        lambda v: sum(changed(v, a, one) * changed(v, b, two) for one, two in masks),
        multiplies=True,
    )


def chained(a: str, b: str, c: str) -> Path:
    """Return the path of ``(a + b) c - a``, which needs ``a`` and ``c`` again in later clocks."""
    width = INPUTS[a].width + INPUTS[b].width + INPUTS[c].width + 2

    def build(p: Pipeline, x: dict[str, Timed]) -> Timed:
        bits = max(INPUTS[a].width, INPUTS[b].width) + 2
        add = p.total([Term(x[a]), Term(x[b])], bits, signed=True)
        return p.total([*p.products(add, x[c]), Term(x[a], negative=True)], width)

    return Path(width, build, lambda v: (v[a] + v[b]) * v[c] - v[a], multiplies=True)


def picked(a: str, b: str, c: str) -> Path:
    """Return the path of a comparison that selects one of two words a clock later."""

    def build(p: Pipeline, x: dict[str, Timed]) -> Timed:
        less = p.compute(lambda left, right: left < right, x[a], x[b])
        return p.compute(lambda flag, left, right: Mux(flag, left, right).as_signed(), less, x[a], x[c])

    return Path(80, build, lambda v: v[a] if v[a] < v[b] else v[c])


def looked_up(a: str, bits: int, width: int, contents: list[int]) -> Path:
    return Path(
        width,
        lambda p, x: p.lookup(x[a].map(lambda value: value[:bits]), width, contents),
        lambda v: contents[v[a] % 2**bits],
    )


def delayed(a: str, clocks: int) -> Path:
    """Return the path of two equal delays, which share their registers, and a longer one that extends them."""

    def build(p: Pipeline, x: dict[str, Timed]) -> Timed:
        first, again, further = p.delay(x[a], clocks), p.delay(x[a], clocks), p.delay(x[a], clocks + 3)
        assert first.value is again.value or clocks == 0
        return p.compute(lambda one, two, three: Cat(one ^ two, three), first, again, further)

    shape = INPUTS[a]
    return Path(2 * shape.width, build, lambda v: (v[a] % 2**shape.width) << shape.width)


def paths(rng: random.Random) -> list[Path]:
    names = list(INPUTS)

    def width_of(name: str) -> int:
        return INPUTS[name].width

    found = []
    # Inputs of every width; products in full, truncated or extended.
    for a in names:
        b = rng.choice(names)
        whole = width_of(a) + width_of(b)
        found.append(product(a, b, whole if rng.random() < 0.7 else rng.randint(1, whole + 3)))
    found += [product("in72s", "in72s", 144), product("in72u", "in72u", 144)]
    for a in rng.sample(names, 2):
        bits = rng.randint(1, 48)
        constant = rng.getrandbits(bits) | 1
        found.append(scaled(a, constant, unsigned(bits), width_of(a) + bits))
        found.append(scaled(a, -constant, signed(bits + 1), width_of(a) + bits + 1))
    for rows in (1, 2, 2, 3, 4, 9, 10, 28, 43, 96):
        width = rng.choice([1, 5, 31, 32, 33, 63, 64, 65, 96, 97, 128, 133])
        terms = [(rng.choice(names), rng.choice([0, 0, 1, 7, 40, 100]), rng.random() < 0.4) for _ in range(rows)]
        constant = rng.choice([0, 1, -1, 2**width - 1, rng.getrandbits(width), 1 << (width - 1)])
        found.append(summed(terms, width, constant))
    # Carries of the adder that pass through whole segments of ones, with a carry into the lowest bit.
    found += [summed([("in64u", 0, False), ("in64s", 0, True)], width, 0) for width in (32, 33, 97)]
    found += [summed([("in64u", 0, True)], width, 0) for width in (20, 100)]
    found += [summed([("in64u", 0, False)], width, 1) for width in (20, 100)]
    for count in (1, 4):
        pairs = [(rng.choice(names), rng.choice(names), rng.random() < 0.4) for _ in range(count)]
        found.append(dot(pairs, rng.choice([64, 100, 133]), rng.getrandbits(60)))
    found.append(dot([("in64s", "in64u", False)] * 16, 133, 1 << 63))
    for count in (1, 2, 4):
        for a, b in (("in64s", "in64u"), rng.sample(names, 2)):
            masks = [(rng.getrandbits(width_of(a)), rng.getrandbits(width_of(b))) for _ in range(count)]
            found.append(cascaded(a, b, [*masks[1:], (0, 0)], rng.choice([64, width_of(a) + width_of(b) + 4])))
    for _ in range(2):
        found.append(chained(*rng.choices(names, k=3)))
        found.append(picked(*rng.choices([name for name in names if width_of(name) < 72], k=3)))
    for bits, width in ((1, 1), (10, 64)):
        found.append(looked_up("in26u", bits, width, [rng.getrandbits(width) for _ in range(1 << bits)]))
    for clocks in (0, 9):
        found.append(delayed(rng.choice(names), clocks))
    return found


class Probe(wiring.Component):
    """All paths in parallel, delayed to the same ``latency``."""

    def __init__(self, every: list[Path], multiplier: Multiplier) -> None:
        self.paths = every
        self.multiplier = multiplier
        counter = Pipeline(multiplier=multiplier)
        inputs = {name: counter.input(Signal(shape), LATE.get(name, 0)) for name, shape in INPUTS.items()}
        self.times = [path.build(counter, inputs).time for path in every]
        self.latency = max(self.times)
        super().__init__(
            {
                **{name: In(shape) for name, shape in INPUTS.items()},
                **{f"out{k}": Out(path.width) for k, path in enumerate(every)},
                "valid_in": In(1),
                "valid_out": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.multiplier)
        inputs = {name: p.input(getattr(self, name), LATE.get(name, 0)) for name in INPUTS}
        for k, path in enumerate(self.paths):
            result = path.build(p, inputs)
            # A pipeline without a module, which only counts clocks, gives the same latency as one that builds.
            assert result.time == self.times[k]
            m.d.comb += getattr(self, f"out{k}").eq(p.delay(result, self.latency - result.time).value)
        m.d.comb += self.valid_out.eq(p.valid(p.input(self.valid_in), self.latency))
        return m


def words(rng: random.Random, shape: Shape, count: int) -> list[int]:
    """Return unsigned words: random ones, runs of ones and of zeros, and extremes."""
    top = (1 << shape.width) - 1
    found = []
    for _ in range(count):
        kind = rng.randrange(4)
        low, high = sorted(rng.choices(range(shape.width + 1), k=2))
        run = ((1 << high) - 1) ^ ((1 << low) - 1)
        extreme = rng.choice([0, 1, top, top >> 1, top ^ (top >> 1)])
        found.append([rng.getrandbits(shape.width), run, run ^ top, extreme][kind])
    return found


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_paths_against_integers(stream: Stream, multiplier: Multiplier) -> None:
    rng = random.Random(4)
    # The latency of paths without a product does not depend on the multiplier.
    every = [path for path in paths(rng) if path.multiplies or multiplier is Multiplier.DSP48E2]
    probe = Probe(every, multiplier)
    count = 250
    operands = {name: words(rng, shape, count) for name, shape in INPUTS.items()}
    outputs = [f"out{k}" for k in range(len(probe.paths))]
    found = stream(probe, operands, outputs, probe.latency, valid=("valid_in", "valid_out"), late=LATE)
    signed_words = {
        name: [word - (word >> (shape.width - 1) << shape.width if shape.signed else 0) for word in operands[name]]
        for name, shape in INPUTS.items()
    }
    rows = [dict(zip(signed_words, row, strict=True)) for row in zip(*signed_words.values(), strict=True)]
    for name, path in zip(outputs, probe.paths, strict=True):
        wanted = [path.oracle(row) % 2**path.width for row in rows]
        got = [int(word) for word in found[name]]
        wrong = [k for k in range(count) if wanted[k] != got[k]]
        assert not wrong, f"{name}: {len(wrong)} wrong, first {got[wrong[0]]:#x} for {wanted[wrong[0]]:#x}"


def clocks_of_total(rows: int, width: int, constant: int = 0, negative: bool = False) -> int:
    p = Pipeline()
    terms = [Term(p.input(Signal(width)), negative=negative) for _ in range(rows)]
    return p.total(terms, width, constant).time


def test_clocks_of_a_sum() -> None:
    assert clocks_of_total(1, 64) == 1
    assert clocks_of_total(2, SEGMENT) == 1
    assert clocks_of_total(2, SEGMENT + 1) == 2
    assert clocks_of_total(2, 128) == 2
    # A carry into the lowest bit needs no row of its own, any other constant does.
    assert clocks_of_total(2, SEGMENT, constant=1) == 1
    assert clocks_of_total(2, SEGMENT, constant=2) == 2
    assert clocks_of_total(3, SEGMENT) == 2
    assert clocks_of_total(9, SEGMENT) == 2
    assert clocks_of_total(10, SEGMENT) == 3
    assert clocks_of_total(9, 64) == 3
    assert clocks_of_total(96, 133) == 3 + 2


@pytest.mark.parametrize(
    ("multiplier", "tiles"),
    [
        (Multiplier.DSP48E2, {(26, 17): 1, (17, 26): 1, (52, 17): 2, (17, 78): 3, (52, 34): 4, (64, 64): 12}),
        (Multiplier.DSP48E1, {(26, 17): 2, (17, 24): 1, (52, 17): 3, (17, 78): 4, (48, 34): 4, (64, 64): 12}),
        (Multiplier.MULT18X18D, {(17, 17): 1, (17, 26): 2, (51, 17): 3, (17, 78): 5, (52, 34): 8, (64, 64): 16}),
    ],
)
def test_products_take_the_clocks_of_a_tile_and_the_fewest_tiles(
    multiplier: Multiplier, tiles: dict[tuple[int, int], int]
) -> None:
    for (a, b), count in tiles.items():
        m = Module()
        p = Pipeline(m, multiplier)
        left, right = Signal(a), Signal(b)
        terms = p.products(p.input(left), p.input(right, 5))
        assert {term.value.time for term in terms} == {5 + TILE_CLOCKS}
        # Tiles that do not overlap share a row.
        assert len(terms) <= count
        assert convert(m, ports=[left, right]).count("cell $mul") == count, (a, b)
    p = Pipeline(multiplier=multiplier)
    signed_terms = p.products(p.input(Signal(signed(64))), p.input(Signal(signed(64))))
    assert sum(term.value.shape.signed for term in signed_terms) >= 1


@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_products_in_a_chain_are_added_tile_by_tile(multiplier: Multiplier) -> None:
    for count in (1, 2, 4, 16):
        m = Module()
        p = Pipeline(m, multiplier)
        names = [(f"left{k}", f"right{k}") for k in range(count)]
        ports = [(Signal(signed(64), name=left), Signal(64, name=right)) for left, right in names]
        pairs = [(p.input(left, 5 + k), p.input(right, 5 + k)) for k, (left, right) in enumerate(ports)]
        terms = p.chained_products(pairs)
        assert {term.value.time for term in terms} == {5 + count - 1 + TILE_CLOCKS}
        text = convert(m, ports=[port for pair in ports for port in pair])
        tiles = 16 if multiplier is Multiplier.MULT18X18D else 12
        assert text.count("cell $mul") == tiles * count
        # Each sum has an adder of at most the 48 bits that the chip has behind a multiplier, and no other.
        widths = [int(width) for width in re.findall(r"cell \$add.*?parameter \\Y_WIDTH (\d+)", text, re.S)]
        assert len(widths) == tiles * (count - 1)
        assert all(width <= 48 for width in widths)


def test_operands_of_a_chain_are_a_clock_apart() -> None:
    p = Pipeline()
    pairs = [(p.input(Signal(8), time), p.input(Signal(8), time)) for time in (0, 2)]
    with pytest.raises(AssertionError, match="^operands of a chain must be a clock apart, not valid at 0 and 2$"):
        p.chained_products(pairs)


def test_align_and_delay() -> None:
    p = Pipeline()
    early, late = p.input(Signal(3), 2), p.input(Signal(4), 6)
    values, time = p.align(early, late)
    assert time == 6
    assert values[1] is late.value
    assert values[0] is p.delay(early, 4).value
    assert early.map(lambda value: value[0]).time == 2
    constant = Timed(Const(5, 3), 0)
    assert p.delay(constant, 9).value is constant.value
    with pytest.raises(AssertionError, match="^clocks of a delay must be at least 0, not -1$"):
        p.delay(late, -1)


def test_short_delays_are_flip_flops() -> None:
    def marked(multiplier: Multiplier | None, *clocks: int) -> list[bool]:
        p = Pipeline(Module(), multiplier)
        word = p.input(Signal(3))
        delays = [p.delay(word, count).value for count in clocks]
        assert all(signal.attrs in ({}, {"shreg_extract": "no"}) for signal in delays)
        return [bool(signal.attrs) for signal in delays]

    for multiplier in (Multiplier.DSP48E2, Multiplier.DSP48E1):
        assert marked(multiplier, 1, 2, SHIFTED - 1) == [True] * 3
        assert marked(multiplier, 1, 2, SHIFTED - 1, SHIFTED) == [False] * 4
    for other in (None, Multiplier.MULT18X18D):
        assert marked(other, 1, 2, SHIFTED) == [False] * 3
