"""Verilog of a board's build, or one like it: ``python -m beltline.constraints.board_verilog --board NAME --out DIR``.

The options are those of :mod:`beltline.hw.top.verilog`; they say what is different from the board's build.
"""

from __future__ import annotations

import sys

from beltline.constraints.boards import BOARDS, Flow
from beltline.hw.bus.serial_frames import BAUD
from beltline.hw.top.verilog import option_parser, write_build


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog and name the files; 0 where all are there."""
    parser = option_parser("python -m beltline.constraints.board_verilog")
    parser.add_argument(
        "--board",
        required=True,
        metavar="NAME",
        help="begin with the build of this board; the other options say what is different",
    )
    given = parser.parse_args(argv)
    if given.board not in BOARDS:
        parser.exit(2, f"verilog: board must be one of {', '.join(BOARDS)}, not '{given.board}'\n")
    board = BOARDS[given.board]
    return write_build(parser, given, board.machine, BAUD if board.flow is Flow.ECP5 else None)


if __name__ == "__main__":
    sys.exit(main())
