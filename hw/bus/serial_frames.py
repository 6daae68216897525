"""Bit rate and frames of the serial protocol, for the gateware, the host and the benches; documented in
``docs/serial.md``.

The host sends *requests*, each of which the device answers. A request is ``REQUEST``, tag, operation, count, address,
payload, check. An *answer* is ``ANSWER``, tag, outcome, payload, check. Numbers are little-endian. Tag, operation,
count and outcome have one byte, the address and the check four. The check is the CRC-32 of Ethernet and zlib over all
bytes of the frame before it.

=================  =========================  ======================  =====================
operation          byte address of            payload of the request  payload of the answer
=================  =========================  ======================  =====================
READ_REGISTER      a 32-bit register          none                    4 bytes
WRITE_REGISTER     a 32-bit register          4 bytes                 none
READ_WORDS         the first table word       none                    8 bytes for each word
WRITE_WORDS        the first table word       8 bytes for each word   none
=================  =========================  ======================  =====================

``count`` is the number of 64-bit words minus 1, and 0 for registers. An answer has a payload only if its outcome is
``DONE``.
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
"""Largest number of 64-bit words in a request."""

HEADER = struct.Struct("<BBBBI")
"""First bytes of a request: ``REQUEST``, tag, operation, count, address."""

ANSWER_HEADER = struct.Struct("<BBB")
"""First bytes of an answer: ``ANSWER``, tag, outcome."""

BAUD = 1_000_000
"""Default bit rate in bits per second; every USB-to-serial converter supports it."""

SILENCE = 0.05
"""Seconds without a byte after which an incomplete frame is discarded: longer than any gap that USB makes in a
frame."""

BYTE_BITS = 10
"""Bits on the line for a byte: a start bit, eight data bits, a stop bit."""

CHECK_BYTES = 4
"""Bytes of the check."""

REGISTER_BYTES = 4
"""Bytes of a register."""

WORD_BYTES = 8
"""Bytes of a table word."""


class Operation(enum.IntEnum):
    """Operations of requests, by their number in a frame."""

    READ_REGISTER = 0
    WRITE_REGISTER = 1
    READ_WORDS = 2
    WRITE_WORDS = 3


class Outcome(enum.IntEnum):
    """Outcome of a request. With every outcome but ``DONE``, the request changed nothing."""

    DONE = 0
    """The request was carried out."""

    BUSY = 1
    """The request was refused, because a run is in progress."""

    ILLEGAL = 2
    """The operation, register or table word does not exist, or does not allow this access."""

    DAMAGED = 3
    """The check of the request is wrong."""


def checked(data: bytes) -> bytes:
    """Return ``data`` followed by its checksum: a complete frame."""
    return data + binascii.crc32(data).to_bytes(CHECK_BYTES, "little")


def sound(frame: bytes) -> bool:
    """Return whether the last four bytes of ``frame`` are the checksum of the bytes before them."""
    return len(frame) > CHECK_BYTES and checked(frame[:-CHECK_BYTES]) == frame


def request(tag: int, operation: int, address: int, count: int = 1, payload: bytes = b"") -> bytes:
    """Return the frame of a request.

    Parameters
    ----------
    tag
        Identifies the request, 0 to 255; the answer has the same tag.
    operation
        A value of :class:`Operation`.
    address
        Byte address of the register or of the first word.
    count
        Number of words, 1 to ``BLOCK_WORDS``; 1 for registers.
    payload
        Data of a write.
    """
    return checked(HEADER.pack(REQUEST, tag, operation, count - 1, address) + payload)


def answer(tag: int, outcome: int, payload: bytes = b"") -> bytes:
    """Return the frame of an answer to the request with the same ``tag``; ``outcome`` is an :class:`Outcome`."""
    return checked(ANSWER_HEADER.pack(ANSWER, tag, outcome) + payload)


def payload_bytes(operation: int, count: int) -> tuple[int, int]:
    """Return the payload sizes in bytes of a request for ``count`` words and of its answer ``DONE``."""
    return {
        Operation.READ_REGISTER: (0, REGISTER_BYTES),
        Operation.WRITE_REGISTER: (REGISTER_BYTES, 0),
        Operation.READ_WORDS: (0, WORD_BYTES * count),
        Operation.WRITE_WORDS: (WORD_BYTES * count, 0),
    }[Operation(operation)]


def line_bytes(operation: int, words: int) -> int:
    """Return the number of bytes on the line, in both directions together, that transfer ``words`` words.

    Counts the requests, of at most ``BLOCK_WORDS`` words each, and their answers.
    """
    frames = -(-words // BLOCK_WORDS)
    overhead = HEADER.size + ANSWER_HEADER.size + 2 * CHECK_BYTES
    return frames * overhead + sum(payload_bytes(operation, words))
