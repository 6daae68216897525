    // The machine's clock of @MHZ@ MHz, which an MMCM generates from the shell's 100 MHz.
    logic feedback, made_clk, locked;
    MMCME4_BASE #(
        .CLKIN1_PERIOD(10.000),
        .CLKFBOUT_MULT_F(@MULTIPLIER@),
        .DIVCLK_DIVIDE(1),
        .CLKOUT0_DIVIDE_F(@DIVIDER@)
    ) machine_mmcm (
        .CLKIN1(clk_hbm_ref),
        .CLKFBIN(feedback),
        .CLKFBOUT(feedback),
        .CLKFBOUTB(),
        .CLKOUT0(made_clk),
        .CLKOUT0B(),
        .CLKOUT1(),
        .CLKOUT1B(),
        .CLKOUT2(),
        .CLKOUT2B(),
        .CLKOUT3(),
        .CLKOUT3B(),
        .CLKOUT4(),
        .CLKOUT5(),
        .CLKOUT6(),
        .LOCKED(locked),
        .PWRDWN(1'b0),
        .RST(~reset_n)
    );
    BUFG machine_buffer (.I(made_clk), .O(machine_clk));

    // The reset is asserted immediately, and released 16 clocks after the shell's reset has ended and the MMCM has locked.
    // The clock converters require this number of clocks.
    logic released;
    (* ASYNC_REG = "TRUE" *) logic [15:0] machine_resets;
    assign released = reset_n & locked;
    always_ff @(posedge machine_clk or negedge released)
        if (!released) machine_resets <= '1;
        else machine_resets <= {machine_resets[14:0], 1'b0};
    always_ff @(posedge machine_clk) machine_reset <= machine_resets[15];

    // Both buses cross to the machine's clock.
    cl_axi_clock_converter_light ocl_converter (
@OCL@
    );

    cl_axi_clock_converter pcis_converter (
@PCIS@
    );

