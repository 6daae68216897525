"""The serial line's rate and frames, as bridge, host and benches read them; ``docs/serial.md`` is the page of it.

A *request* is ``REQUEST``, tag, operation, count, address, payload, check; an *answer* is ``ANSWER``, tag, outcome,
payload, check. Numbers are little-endian. The check is the CRC-32 of Ethernet and zlib over all bytes before it.

=================  =======================  ===================  =====================
operation          address, in bytes        payload              payload of the answer
=================  =======================  ===================  =====================
READ_REGISTER      of a 32-bit register                          4 bytes
WRITE_REGISTER     of a 32-bit register     4 bytes
READ_WORDS         of a 64-bit table word                        8 bytes a word
WRITE_WORDS        of a 64-bit table word   8 bytes a word
=================  =======================  ===================  =====================

``count`` is the number of words less one, and 0 for registers. Only an answer that is ``DONE`` has a payload.
"""

from __future__ import annotations

import binascii
import enum
import struct

REQUEST = 0xB1
"""First byte of a request."""

ANSWER = 0x1B
"""First byte of an answer."""

BLOCK_WORDS = 256
"""Most words of a request."""

HEADER = struct.Struct("<BBBBI")
"""A request's first bytes: ``REQUEST``, tag, operation, count, address."""

ANSWER_HEADER = struct.Struct("<BBB")
"""An answer's first bytes: ``ANSWER``, tag, outcome."""

BAUD = 1_000_000
"""Bits a second unless a build or a host says otherwise: what every USB bridge can do."""

SILENCE = 0.05
"""Seconds of silence after which a frame is over: longer than any gap that USB makes in one."""

BYTE_BITS = 10
"""Bits that a byte takes on the line: start, eight of data, stop."""

CHECK_BYTES = 4
REGISTER_BYTES = 4
WORD_BYTES = 8


class Operation(enum.IntEnum):
    """What a request asks for."""

    READ_REGISTER = 0
    WRITE_REGISTER = 1
    READ_WORDS = 2
    WRITE_WORDS = 3


class Outcome(enum.IntEnum):
    """What came of it. All but ``DONE`` have changed nothing."""

    DONE = 0
    BUSY = 1
    """Refused, because a run is under way."""

    ILLEGAL = 2
    """There is no such operation, register or table word, or it cannot be read or written."""

    DAMAGED = 3
    """The check is wrong."""


def checked(data: bytes) -> bytes:
    """``data`` and its check."""
    return data + binascii.crc32(data).to_bytes(CHECK_BYTES, "little")


def sound(frame: bytes) -> bool:
    """Whether the last bytes of ``frame`` are the check of those before."""
    return len(frame) > CHECK_BYTES and checked(frame[:-CHECK_BYTES]) == frame


def request(tag: int, operation: int, address: int, count: int = 1, payload: bytes = b"") -> bytes:
    """A request for ``count`` words (1 to ``BLOCK_WORDS``) from byte ``address``."""
    return checked(HEADER.pack(REQUEST, tag, operation, count - 1, address) + payload)


def answer(tag: int, outcome: int, payload: bytes = b"") -> bytes:
    """An answer."""
    return checked(ANSWER_HEADER.pack(ANSWER, tag, outcome) + payload)


def payload_bytes(operation: int, count: int) -> tuple[int, int]:
    """Bytes of the payload of a request for ``count`` words, and of its answer when ``DONE``."""
    return {
        Operation.READ_REGISTER: (0, REGISTER_BYTES),
        Operation.WRITE_REGISTER: (REGISTER_BYTES, 0),
        Operation.READ_WORDS: (0, WORD_BYTES * count),
        Operation.WRITE_WORDS: (WORD_BYTES * count, 0),
    }[Operation(operation)]


def line_bytes(operation: int, words: int) -> int:
    """Bytes both ways of requests for ``words`` words, at most ``BLOCK_WORDS`` each, and of their answers."""
    frames = -(-words // BLOCK_WORDS)
    overhead = HEADER.size + ANSWER_HEADER.size + 2 * CHECK_BYTES
    return frames * overhead + sum(payload_bytes(operation, words))
