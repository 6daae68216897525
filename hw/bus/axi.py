"""Signatures of AXI4-Lite and AXI4. Directions are those of the master; a slave uses them with ``In``.

Source: Arm IHI 0022, "AMBA AXI and ACE protocol specification". The signals that the machine does not use (cache, prot,
qos, region, lock, user) are omitted; the wrapper of a board handles them.
"""

from __future__ import annotations

import enum

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.parameters import BUS_WIDTHS


class Response(enum.IntEnum):
    """Values of ``bresp`` and ``rresp``."""

    OKAY = 0
    SLVERR = 2


class Burst(enum.IntEnum):
    """Values of ``awburst`` and ``arburst``."""

    FIXED = 0
    INCR = 1
    WRAP = 2


class AxiLite(wiring.Signature):
    """AXI4-Lite with 32-bit data, with the directions of the master.

    Parameters
    ----------
    address_bits
        Width of ``awaddr`` and ``araddr``.
    """

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


class Axi(wiring.Signature):
    """AXI4, with the directions of the master.

    Parameters
    ----------
    address_bits
        Width of ``awaddr`` and ``araddr``.
    data_bits
        Width of ``wdata`` and ``rdata``: 64, 128, 256 or 512.
    id_bits
        Width of the transaction identifiers ``awid``, ``bid``, ``arid`` and ``rid``.

    Raises
    ------
    ValueError
        ``data_bits`` is not 64, 128, 256 or 512.
    """

    def __init__(self, address_bits: int, data_bits: int = 64, id_bits: int = 4) -> None:
        if data_bits not in BUS_WIDTHS:
            raise ValueError(f"data width must be 64, 128, 256 or 512 bits, not {data_bits}")
        self.address_bits = address_bits
        self.data_bits = data_bits
        self.id_bits = id_bits

        def address(prefix: str) -> dict[str, wiring.Member]:
            return {
                f"{prefix}id": Out(id_bits),
                f"{prefix}addr": Out(address_bits),
                f"{prefix}len": Out(8),
                f"{prefix}size": Out(3),
                f"{prefix}burst": Out(2),
                f"{prefix}valid": Out(1),
                f"{prefix}ready": In(1),
            }

        super().__init__(
            {
                **address("aw"),
                "wdata": Out(data_bits),
                "wstrb": Out(data_bits // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(id_bits),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                **address("ar"),
                "rid": In(id_bits),
                "rdata": In(data_bits),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
