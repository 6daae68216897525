"""Bench of the serial bridge: a host at the other end of the line accesses registers and tables through it.

The host uses frames as :mod:`beltline.hw.bus.serial_frames` builds them. The top has ``rx``, ``tx`` and ``locked``; the
settings (``setting_NAME``); and counters of the accesses that reached the machine: ``commands``, ``register_writes``,
``word_writes``, ``refusals_register`` and ``refusals_table``.
"""

from __future__ import annotations

import random
from itertools import count

import cocotb
from cocotb.triggers import FallingEdge, Timer
from cocotb.utils import get_sim_time

from beltline.hw.bus import serial_frames
from beltline.hw.bus.serial_frames import BLOCK_WORDS, Operation, Outcome
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, READABLE, REGISTERS, WRITABLE, Access, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.sim.benches.serial_line import CLOCK, Line, start
from beltline.sim.cocotb_runner import bench_parameters

GIVEN = bench_parameters()
DIVISOR, SILENCE, FEW = GIVEN["divisor"], GIVEN["silence"], GIVEN["few"]
"""Clocks of a bit; bits of a silence; and a divisor of the number of trials, 1 for a full run."""

WINDOWS = WindowParameters(MachineParameters(grid=GIVEN["grid"], states=GIVEN["states"]))
SETTINGS = [r for r in REGISTERS.values() if r.access is Access.READ_WRITE]
COUNTERS = ("commands", "register_writes", "word_writes", "refusals_register", "refusals_table")
COMMAND = REGISTERS["COMMAND"].offset
ANSWER_BITS = 30
"""Bit times within which an answer begins, not counting the time to write words."""

STRAY_ANSWER = 3 + 32 + 4
"""Bytes of an answer with four words: header, payload and checksum."""

WITH_PAYLOAD = (Operation.WRITE_REGISTER, Operation.WRITE_WORDS)
"""Operations whose requests have a payload."""


class Host:
    """The other end of the line. It remembers what registers, tables and counters must contain.

    Attributes: ``registers`` maps addresses to words, ``tables`` has the words of each table (None where a word is not
    known), ``expected`` the counters.
    """

    def __init__(self, dut):
        self.dut = dut
        self.line = Line(dut, DIVISOR)
        self.tag = random.randrange(256)
        self.registers = {r.offset + 4 * k: 0 for r in SETTINGS for k in range(r.words)}
        self.tables = {table: [None] * WINDOWS.words(table) for table in Table}
        self.expected = dict.fromkeys(COUNTERS, 0)

    def next_tag(self):
        """Return a tag that differs from the one before, so that the bridge takes the request as a new one."""
        self.tag = (self.tag + random.randrange(1, 256)) % 256
        return self.tag

    async def send(self, data, gaps=True):
        """Send bytes; with ``gaps``, after one byte in ten leave a gap that is shorter than a silence."""
        for byte in data:
            await self.line.send(byte)
            if gaps and random.random() < 0.1:
                await self.line.idle(random.choice((0.4, 1, 3, SILENCE - 12)))

    async def silence(self):
        """Send nothing until the bridge accepts a request again, and discard everything that it sends meanwhile."""
        await self.line.idle(SILENCE + 4)
        while self.line.heard:
            self.line.heard.clear()
            await self.line.idle(SILENCE)

    async def hear(self, size, words=0):
        """Return the ``size`` bytes of an answer, or fewer if these do not arrive in time; ``words`` were written."""
        return await self.line.take(size, ANSWER_BITS + 10 * size + 6 * words)

    async def ask(self, operation, address, words=1, payload=b"", tag=None, gaps=True):
        """Send a request, check its answer, and return its outcome and payload; ``words`` is the number to transfer."""
        tag = self.next_tag() if tag is None else tag
        await self.send(serial_frames.request(tag, operation, address, words, payload), gaps)
        size = len(serial_frames.answer(tag, 0))
        head = await self.hear(size, words)
        assert len(head) == size, f"no answer to {Operation(operation).name}: {head.hex()}"
        assert (head[0], head[1]) == (serial_frames.ANSWER, tag)
        outcome = Outcome(head[2])
        rest = b""
        if outcome is Outcome.DONE and (more := serial_frames.payload_bytes(operation, words)[1]):
            rest = await self.hear(more)
        answer = head + rest
        assert serial_frames.sound(answer), answer.hex()
        return outcome, answer[3:-4]

    async def write_register(self, address, word, **options):
        """Write a 32-bit word at a byte address; return the outcome, and remember the word if it was written."""
        outcome, _ = await self.ask(Operation.WRITE_REGISTER, address, payload=word.to_bytes(4, "little"), **options)
        if outcome is Outcome.DONE and address in self.registers:
            register = next(r for r in SETTINGS if r.offset <= address < r.offset + 4 * r.words)
            bits = min(32, register.bits - 8 * (address - register.offset))
            self.registers[address] = word % 2**bits
        return outcome

    async def read_register(self, address):
        """Read a 32-bit word at a byte address; return the outcome and the word."""
        outcome, data = await self.ask(Operation.READ_REGISTER, address)
        return outcome, int.from_bytes(data, "little")

    async def write_words(self, table, first, words, **options):
        """Write 64-bit words of a table from word ``first`` on; return the outcome, and remember words written."""
        payload = b"".join(word.to_bytes(8, "little") for word in words)
        outcome, _ = await self.ask(
            Operation.WRITE_WORDS, WINDOWS.offset(table) + 8 * first, len(words), payload, **options
        )
        if outcome is Outcome.DONE:
            self.tables[table][first : first + len(words)] = words
        return outcome

    async def read_words(self, table, first, words):
        """Read 64-bit words of a table and compare them with what was written; return the outcome and their number."""
        outcome, data = await self.ask(Operation.READ_WORDS, WINDOWS.offset(table) + 8 * first, words)
        found = [int.from_bytes(data[8 * k : 8 * k + 8], "little") for k in range(len(data) // 8)]
        for k, word in enumerate(found, first):
            # The first content of a memory is undefined.
            assert self.tables[table][k] in (None, word), f"{table.name}[{k}]"
            self.tables[table][k] = word
        return outcome, len(found)

    async def check(self, words=20):
        """Check all registers, the first and last words of every table, and the counters of accesses."""
        for address, word in self.registers.items():
            assert await self.read_register(address) == (Outcome.DONE, word)
        for table in READABLE:
            part = min(words, WINDOWS.words(table))
            for first in {0, WINDOWS.words(table) - part}:
                assert await self.read_words(table, first, part) == (Outcome.DONE, part)
        counted = {name: int(getattr(self.dut, name).value) for name in COUNTERS}
        assert counted == self.expected


async def begin(dut):
    """Reset the bridge, check that it answers, and return the host."""
    await start(dut, locked=0)
    host = Host(dut)
    assert await host.read_register(REGISTERS["IDENTITY"].offset) == (Outcome.DONE, IDENTITY)
    return host


def some_words(number):
    """Return ``number`` random 64-bit words."""
    return [random.getrandbits(64) for _ in range(number)]


async def random_write(host, most=12):
    """Write a random register or random table words, and count them in ``host.expected``."""
    if random.random() < 0.4:
        address = random.choice(list(host.registers))
        assert await host.write_register(address, random.getrandbits(32)) is Outcome.DONE
        host.expected["register_writes"] += 1
    else:
        table = random.choice(WRITABLE)
        number = random.randint(1, min(most, WINDOWS.words(table)))
        first = random.randint(0, WINDOWS.words(table) - number)
        assert await host.write_words(table, first, some_words(number)) is Outcome.DONE
        host.expected["word_writes"] += number


@cocotb.test()
async def traffic(dut):
    """Registers and blocks of up to the largest size, with gaps between bytes: no access changes its neighbours."""
    host = await begin(dut)
    words = WINDOWS.words(Table.W)
    for first, number in ((0, min(words, BLOCK_WORDS)), (words - 1, 1), (1, 2), (words - 20, 20)):
        assert await host.write_words(Table.W, first, some_words(number)) is Outcome.DONE
        host.expected["word_writes"] += number
    for _ in range(60 // FEW):
        await random_write(host)
        table = random.choice(READABLE)
        number = random.randint(1, 9)
        first = random.randint(0, WINDOWS.words(table) - number)
        assert await host.read_words(table, first, number) == (Outcome.DONE, number)
    await host.check(BLOCK_WORDS)


@cocotb.test()
async def illegal_requests_change_nothing(dut):
    """Requests with a wrong address, length, table or operation are answered ILLEGAL and change nothing."""
    host = await begin(dut)
    await random_write(host)
    end = max(r.offset + 4 * r.words for r in REGISTERS.values())
    word, size = b"abcd", len(serial_frames.answer(0, 0))
    requests = [(Operation.WRITE_REGISTER, a, 1, word) for a in (1, 2, 11, end, 1024, 2**12, 2**16, 2**31)]
    requests += [(Operation.READ_REGISTER, a, 1, b"") for a in (3, 6, end, 1024, 2**12, 2**16, 2**31, COMMAND)]
    requests += [(Operation.WRITE_REGISTER, r.offset, 1, word) for r in REGISTERS.values() if r.access is Access.READ]
    requests += [(Operation.READ_REGISTER, 0, 2, b""), (Operation.WRITE_REGISTER, SETTINGS[0].offset, 256, word)]
    for operation, tables in ((Operation.READ_WORDS, READABLE), (Operation.WRITE_WORDS, WRITABLE)):
        for table in Table:
            start, words = WINDOWS.offset(table), WINDOWS.words(table)
            bad = [(start + 8 * words, 1), (start + 8 * words - 8, 2), (start + 4, 1), (start + 1, 2)]
            bad += [(start + 8 * (words - 1), BLOCK_WORDS), (start + 2**31, 1), (start + (8 << WINDOWS.window_bits), 1)]
            bad += [] if table in tables else [(start, 1)]
            for address, number in random.sample(bad, len(bad) if FEW == 1 else 1):
                requests.append((operation, address, number, bytes(8 * number * (operation is Operation.WRITE_WORDS))))
    requests += [(Operation.READ_WORDS, 5 << WINDOWS.window_bits, 1, b"")]
    for request in random.sample(requests, len(requests) // FEW):
        assert await host.ask(*request, gaps=False) == (Outcome.ILLEGAL, b""), request
    for operation in (4, 7, 128, 255):
        tag = host.next_tag()
        await host.send(serial_frames.request(tag, operation, 0))
        assert await host.hear(size) == serial_frames.answer(tag, Outcome.ILLEGAL)
    await host.check()


@cocotb.test()
async def busy(dut):
    """During a run registers are read and commands accepted; all else is refused and counted, and changes nothing."""
    host = await begin(dut)
    for _ in range(4):
        await random_write(host)
    dut.locked.value = 1
    for r in SETTINGS:
        assert await host.write_register(r.offset, 5) is Outcome.BUSY
        host.expected["refusals_register"] += 1
    for table in WRITABLE:
        assert await host.write_words(table, 1, some_words(2)) is Outcome.BUSY
        host.expected["refusals_table"] += 1
    for table in READABLE:
        assert await host.read_words(table, 1, 2) == (Outcome.BUSY, 0)
    # Illegal requests are answered ILLEGAL during a run, too, and are not counted as refusals.
    assert await host.write_register(0, 5) is Outcome.ILLEGAL
    assert await host.write_words(Table.POLICY, 0, [1]) is Outcome.ILLEGAL
    assert await host.read_register(0) == (Outcome.DONE, IDENTITY)
    assert await host.write_register(COMMAND, 2) is Outcome.DONE
    host.expected["commands"] += 1
    # A refused request can be repeated with the same tag.
    tag = host.next_tag()
    assert await host.write_register(SETTINGS[0].offset, 1, tag=tag) is Outcome.BUSY
    host.expected["refusals_register"] += 1
    dut.locked.value = 0
    assert await host.write_register(SETTINGS[0].offset, 1, tag=tag) is Outcome.DONE
    host.expected["register_writes"] += 1
    await host.check()


@cocotb.test()
async def nothing_is_done_twice(dut):
    """A write or command repeated with the same tag is done once and answered each time."""
    host = await begin(dut)
    for _ in range(12 // FEW):
        tag = host.next_tag()
        for _ in range(random.randint(1, 3)):
            assert await host.write_register(COMMAND, 1, tag=tag) is Outcome.DONE
        host.expected["commands"] += 1
        tag = host.next_tag()
        words = some_words(3)
        for _ in range(random.randint(1, 3)):
            assert await host.write_words(Table.V, 2, words, tag=tag) is Outcome.DONE
        host.expected["word_writes"] += 3
        if random.random() < 0.5:
            # A read is done each time; after it the tag of the write before it counts as new.
            for _ in range(2):
                assert await host.read_words(Table.V, 2, 3) == (Outcome.DONE, 3)
            assert await host.write_words(Table.V, 2, words, tag=tag) is Outcome.DONE
            host.expected["word_writes"] += 3
    await host.check()


async def damaged(host, request):
    """Send ``request`` with a random transmission error that the bridge must detect; return the kind of error."""
    kind = random.choice(("flip", "lose", "insert", "cut", "frame", "check", "noise", "gap"))
    place = random.randrange(1 if kind == "gap" else 0, len(request))
    data = bytearray(request)
    if kind == "flip":
        data[place] ^= 1 << random.randrange(8)
    elif kind == "lose":
        del data[place]
    elif kind == "insert":
        # Not after the end, where it would not be part of the request.
        data.insert(place, random.choice((0, 255, serial_frames.REQUEST, random.randrange(256))))
        if bytes(data[: len(request)]) == request:
            data[0] ^= 255
    elif kind == "cut":
        del data[place:]
    elif kind == "check":
        data[-4:] = random.randbytes(4)
        if bytes(data) == request:
            data[-1] ^= 1
    elif kind == "noise":
        data[:0] = bytes((random.choice((0, 255, 7)),))
    for k, byte in enumerate(data):
        if kind == "frame" and k == place:
            # The stop bit is low; then the line is idle.
            await host.line.send(byte, stop=0)
            await host.line.idle(1)
            continue
        if kind == "gap" and k == place:
            await host.line.idle(SILENCE + 4)
        await host.line.send(byte)
    return kind


@cocotb.test()
async def damage_does_nothing_and_is_over_after_a_silence(dut):
    """A damaged request changes nothing, and after a silence the bridge accepts the next one."""
    host = await begin(dut)
    for _ in range(4):
        await random_write(host)
    seen = set()
    for trial in count():
        if trial >= 160 // FEW and (FEW > 1 or len(seen) == 8):
            break
        number = random.randint(1, 5)
        first = random.randint(0, 9)
        if random.random() < 0.5:
            request = (Operation.WRITE_WORDS, WINDOWS.offset(Table.V) + 8 * first, number, random.randbytes(8 * number))
        else:
            request = (Operation.WRITE_REGISTER, SETTINGS[-1].offset, 1, random.randbytes(4))
        kind = await damaged(host, serial_frames.request(host.next_tag(), *request))
        if kind != "gap":
            # The rest of a frame after a gap may contain the first byte of a request, so its answer is not determined.
            heard = await host.hear(7, number)
            assert not heard or heard[0] == serial_frames.ANSWER
            assert not heard or heard[2] == Outcome.DAMAGED, (kind, heard.hex())
        seen.add(kind)
        # Until a silence the bridge may ignore requests, or take them for the rest of a frame.
        await host.silence()
        counted = {name: int(getattr(dut, name).value) for name in COUNTERS}
        assert counted == host.expected, kind
        if random.random() < 0.5:
            await random_write(host, most=3)
        assert await host.read_register(0) == (Outcome.DONE, IDENTITY), kind
    await host.check()


@cocotb.test()
async def noise_wedges_nothing(dut):
    """After random bytes and levels, and then a silence, the bridge answers."""
    host = await begin(dut)
    for _ in range(30 // FEW):
        for _ in range(random.randint(1, 40)):
            if random.random() < 0.3:
                await host.line.level(random.randrange(2), random.uniform(0.1, 30))
            else:
                await host.line.send(random.choice((serial_frames.REQUEST, 0, 1, 2, 3, random.randrange(256))))
        await host.silence()
        assert await host.read_register(0) == (Outcome.DONE, IDENTITY)
    await host.check()


async def time_of(event):
    """Wait for a trigger and return its time in picoseconds."""
    await event
    return get_sim_time("ps")


async def stray_byte(host, byte, place, high=None):
    """Send ``byte`` near the end of an answer, then a request, and check whether the bridge answers that.

    The answer has ``STRAY_ANSWER`` bytes and must be complete. The request after the byte must be answered if the line
    was high for a silence before it. Otherwise the bridge must ignore it, or answer DAMAGED if the byte began a frame.

    Parameters
    ----------
    place
        Function from the time at which the answer ends to the time at which the bridge samples the middle of the byte's
        stop bit, both in picoseconds.
    high
        Clocks for which the line is high between the last low bit of the byte and the request, if these are not over
        already. Without it the request follows as soon as possible.

    Returns
    -------
    int
        Clocks for which the line was high before the request.
    """
    dut, line = host.dut, host.line
    # The answer may begin before the request's last stop bit is over.
    begun = cocotb.start_soon(time_of(FallingEdge(dut.tx)))
    tag = host.next_tag()
    await host.send(serial_frames.request(tag, Operation.READ_WORDS, WINDOWS.offset(Table.V), 4), gaps=False)
    end = await begun + 10 * STRAY_ANSWER * line.nominal
    comes = place(end)
    # The line changes between two edges of the clock; the synchronizer shows it two clocks later.
    start = comes - (9 * DIVISOR + DIVISOR // 2 + 2) * CLOCK + CLOCK // 2
    await Timer(start - get_sim_time("ps"), unit="ps")
    await line.send(byte)
    answer = await host.hear(STRAY_ANSWER)
    assert answer == serial_frames.answer(tag, Outcome.DONE, answer[3:-4])
    last_low = max(k for k in range(9) if not (byte << 1) >> k & 1)
    rises = start + (last_low + 1) * line.bit
    now = get_sim_time("ps")
    behind = max(rises + (high or 0) * CLOCK, now + -(now - rises) % CLOCK)
    await Timer(max(behind - now, 1), unit="ps")
    tag = host.next_tag()
    request = serial_frames.request(tag, Operation.READ_REGISTER, 0)
    clocks = round((get_sim_time("ps") - rises) / CLOCK)
    await host.send(request, gaps=False)
    wanted = b""
    if clocks > SILENCE * DIVISOR:
        wanted = serial_frames.answer(tag, Outcome.DONE, IDENTITY.to_bytes(4, "little"))
    elif byte == serial_frames.REQUEST and comes >= end and request[1] not in WITH_PAYLOAD:
        # The byte begins a frame, and the request is taken for the rest of it, one byte late.
        wanted = serial_frames.answer(request[0], Outcome.DAMAGED)
    case = f"{byte:#x}, {(comes - end) / CLOCK:g} clocks after the answer, {clocks} clocks high"
    assert await host.hear(len(wanted) or 1) == wanted, case
    await host.silence()
    assert await host.read_register(0) == (Outcome.DONE, IDENTITY), case
    return clocks


@cocotb.test()
async def byte_during_an_answer(dut):
    """A byte sent during an answer does not damage it, and the bridge then ignores requests until a silence.

    A byte sent after the answer has the same effect, unless it can be the first byte of a request.
    """
    host = await begin(dut)
    for _ in range(40 // FEW):
        clocks = round(random.uniform(300, 450) * DIVISOR) - 10 * STRAY_ANSWER * DIVISOR
        byte = random.choice((serial_frames.REQUEST, random.randrange(256)))
        high = random.choice((None, random.randint(1, SILENCE * DIVISOR), random.randint(1, 2 * SILENCE * DIVISOR)))
        await stray_byte(host, byte, lambda end, clocks=clocks: end + clocks * CLOCK, high)
    await host.check()


@cocotb.test()
async def byte_at_the_end_of_an_answer(dut):
    """A byte one clock before, at and one clock after each limit.

    The limits are those of the beginning and the arrival of a byte, relative to the end of the answer and to the start
    of its last byte; then that of the silence.
    """
    host = await begin(dut)
    ends = (-10 * DIVISOR, 0, 9 * DIVISOR + DIVISOR // 2 + 2)
    places = [end + clock for end in ends for clock in (-1, 0, 1)]
    cases = [(byte, place) for place in places for byte in (serial_frames.REQUEST, 0x00, 0x80, 0xFF)]
    for byte, place in cases if FEW == 1 else random.sample(cases, len(cases) // FEW):
        await stray_byte(host, byte, lambda end, place=place: end + place * CLOCK)
    silence = SILENCE * DIVISOR
    for byte in (serial_frames.REQUEST, 0x00, 0x80, 0xFF):
        for high in (silence - 1, silence, silence + 1) if FEW == 1 else (random.choice((silence, silence + 1)),):
            for place in (-1, 0):
                assert await stray_byte(host, byte, lambda end, place=place: end + place * CLOCK, high) == high
    await host.check()


@cocotb.test()
async def gaps_shorter_than_a_silence(dut):
    """A request with gaps just shorter than a silence between its bytes is answered."""
    host = await begin(dut)
    request = serial_frames.request(host.next_tag(), Operation.READ_REGISTER, 0)
    for byte in request:
        await host.line.send(byte)
        # The silence also includes the stop bit, and the last bits of the byte if they are high.
        await host.line.idle(SILENCE - 12)
    assert len(await host.hear(11)) == 11
    await host.check()
