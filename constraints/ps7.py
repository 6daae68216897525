"""Parameters of Vivado's ``processing_system7`` that describe the circuits of the Zynq-7000 boards.

The two boards have the same circuit, with different traces of the memory. Source: ``preset.xml`` of the boards'
descriptions in github.com/Xilinx/XilinxBoardStore, ``boards/TUL/pynq-z2/A.0`` and ``boards/Digilent/arty-z7-20/A.0``.
Only parameters of the circuit are given; Vivado computes the others from them.
"""

from __future__ import annotations

COMMON: dict[str, str] = {
    "PCW_UIPARAM_DDR_FREQ_MHZ": "525",
    "PCW_UIPARAM_DDR_BANK_ADDR_COUNT": "3",
    "PCW_UIPARAM_DDR_ROW_ADDR_COUNT": "15",
    "PCW_UIPARAM_DDR_COL_ADDR_COUNT": "10",
    "PCW_UIPARAM_DDR_CL": "7",
    "PCW_UIPARAM_DDR_CWL": "6",
    "PCW_UIPARAM_DDR_T_RAS_MIN": "35.0",
    "PCW_UIPARAM_DDR_T_FAW": "40.0",
    "PCW_UIPARAM_DDR_AL": "0",
    "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_2": "-0.009",
    "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_3": "-0.033",
    "PCW_UIPARAM_DDR_BOARD_DELAY2": "0.085",
    "PCW_UIPARAM_DDR_BOARD_DELAY3": "0.092",
    "PCW_CRYSTAL_PERIPHERAL_FREQMHZ": "50",
    "PCW_APU_PERIPHERAL_FREQMHZ": "650",
    "PCW_QSPI_PERIPHERAL_FREQMHZ": "200",
    "PCW_USB0_PERIPHERAL_FREQMHZ": "60",
    "PCW_SDIO_PERIPHERAL_FREQMHZ": "50",
    "PCW_UART_PERIPHERAL_FREQMHZ": "100",
    "PCW_PRESET_BANK0_VOLTAGE": "LVCMOS 3.3V",
    "PCW_PRESET_BANK1_VOLTAGE": "LVCMOS 1.8V",
    "PCW_UIPARAM_DDR_MEMORY_TYPE": "DDR 3",
    "PCW_UIPARAM_DDR_ECC": "Disabled",
    "PCW_UIPARAM_DDR_BUS_WIDTH": "16 Bit",
    "PCW_UIPARAM_DDR_BL": "8",
    "PCW_UIPARAM_DDR_HIGH_TEMP": "Normal (0-85)",
    "PCW_UIPARAM_DDR_PARTNO": "MT41J256M16 RE-125",
    "PCW_UIPARAM_DDR_DRAM_WIDTH": "16 Bits",
    "PCW_UIPARAM_DDR_DEVICE_CAPACITY": "4096 MBits",
    "PCW_UIPARAM_DDR_SPEED_BIN": "DDR3_1066F",
    "PCW_UIPARAM_DDR_TRAIN_WRITE_LEVEL": "1",
    "PCW_UIPARAM_DDR_TRAIN_READ_GATE": "1",
    "PCW_UIPARAM_DDR_TRAIN_DATA_EYE": "1",
    "PCW_UIPARAM_DDR_CLOCK_STOP_EN": "0",
    "PCW_QSPI_PERIPHERAL_ENABLE": "1",
    "PCW_QSPI_QSPI_IO": "MIO 1 .. 6",
    "PCW_QSPI_GRP_FBCLK_ENABLE": "1",
    "PCW_QSPI_GRP_FBCLK_IO": "MIO 8",
    "PCW_ENET0_PERIPHERAL_ENABLE": "1",
    "PCW_ENET0_ENET0_IO": "MIO 16 .. 27",
    "PCW_ENET0_GRP_MDIO_ENABLE": "1",
    "PCW_ENET0_GRP_MDIO_IO": "MIO 52 .. 53",
    "PCW_ENET_RESET_ENABLE": "1",
    "PCW_ENET_RESET_SELECT": "Share reset pin",
    "PCW_ENET0_RESET_ENABLE": "1",
    "PCW_ENET0_RESET_IO": "MIO 9",
    "PCW_SD0_PERIPHERAL_ENABLE": "1",
    "PCW_SD0_SD0_IO": "MIO 40 .. 45",
    "PCW_SD0_GRP_CD_ENABLE": "1",
    "PCW_SD0_GRP_CD_IO": "MIO 47",
    "PCW_UART0_PERIPHERAL_ENABLE": "1",
    "PCW_UART0_UART0_IO": "MIO 14 .. 15",
    "PCW_USB0_PERIPHERAL_ENABLE": "1",
    "PCW_USB0_USB0_IO": "MIO 28 .. 39",
    "PCW_USB_RESET_ENABLE": "1",
    "PCW_USB_RESET_SELECT": "Share reset pin",
    "PCW_USB0_RESET_ENABLE": "1",
    "PCW_USB0_RESET_IO": "MIO 46",
    "PCW_GPIO_MIO_GPIO_ENABLE": "1",
    "PCW_GPIO_MIO_GPIO_IO": "MIO",
    "PCW_ENET0_PERIPHERAL_FREQMHZ": "1000 Mbps",
    "PCW_USB_RESET_POLARITY": "Active Low",
    "PCW_ENET_RESET_POLARITY": "Active Low",
    "PCW_MIO_2_PULLUP": "disabled",
    "PCW_MIO_3_PULLUP": "disabled",
    "PCW_MIO_4_PULLUP": "disabled",
    "PCW_MIO_5_PULLUP": "disabled",
    "PCW_MIO_6_PULLUP": "disabled",
    "PCW_MIO_7_PULLUP": "disabled",
    "PCW_MIO_8_PULLUP": "disabled",
}
"""Clocks, memory, and devices on the multiplexed pins (MIO) of both boards."""

BOARD: dict[str, dict[str, str]] = {
    "pynq-z2": {
        "PCW_UIPARAM_DDR_T_RCD": "13.125",
        "PCW_UIPARAM_DDR_T_RP": "13.125",
        "PCW_UIPARAM_DDR_T_RC": "50.625",
        "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_0": "-0.051",
        "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_1": "-0.006",
        "PCW_UIPARAM_DDR_BOARD_DELAY0": "0.279",
        "PCW_UIPARAM_DDR_BOARD_DELAY1": "0.260",
    },
    "arty-z7-20": {
        "PCW_UIPARAM_DDR_T_RCD": "7",
        "PCW_UIPARAM_DDR_T_RP": "7",
        "PCW_UIPARAM_DDR_T_RC": "48.91",
        "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_0": "0.040",
        "PCW_UIPARAM_DDR_DQS_TO_CLK_DELAY_1": "0.058",
        "PCW_UIPARAM_DDR_BOARD_DELAY0": "0.223",
        "PCW_UIPARAM_DDR_BOARD_DELAY1": "0.212",
    },
}
"""Timing of the memory, by board."""


def parameters(name: str, clock_mhz: str) -> dict[str, str]:
    """Return the parameters for board ``name``: those of its circuit, and those that the block design needs.

    The latter enable the master port GP0, the clock ``FCLK_CLK0`` with ``clock_mhz`` MHz, its reset, and an interrupt
    from the fabric.
    """
    return {
        **COMMON,
        **BOARD[name],
        "PCW_USE_M_AXI_GP0": "1",
        "PCW_FPGA_FCLK0_ENABLE": "1",
        "PCW_EN_CLK0_PORT": "1",
        "PCW_EN_RST0_PORT": "1",
        "PCW_FPGA0_PERIPHERAL_FREQMHZ": clock_mhz,
        "PCW_USE_FABRIC_INTERRUPT": "1",
        "PCW_IRQ_F2P_INTR": "1",
    }
