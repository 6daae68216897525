// The simulated board: a master of both buses of the machine, for the calls of a driver. The loops over words and
// clocks are here, so that Python makes one call for each block.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vtop.h"
#include "verilated.h"

// Replaces Verilator's function, which ends the process.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string("the simulation stopped: ") + message + " (" + file + ":" + std::to_string(line) + ")");
}

namespace {

// Clocks without progress after which a bus counts as blocked.
constexpr int PATIENCE = 1024;

// Clocks between two readings of the time. They take less than 0.1 s for every machine that can reasonably be simulated.
constexpr int CLOCKS_PER_LOOK = 64;

constexpr int RESET_CLOCKS = 8;

// Limits of a burst, after Arm IHI 0022: the number of beats, and the bytes of an aligned block that it must not leave.
constexpr std::uint32_t BEATS = 256;
constexpr std::uint32_t BOUNDARY = 4096;
constexpr int INCR = 1;

constexpr std::uint32_t WORD_BYTES = 8;
constexpr std::uint32_t BUS_BYTES = sizeof(Vtop::s_axi_tables_wdata);
constexpr int BEAT_SIZE = BUS_BYTES == 8 ? 3 : BUS_BYTES == 16 ? 4 : BUS_BYTES == 32 ? 5 : 6;
static_assert(BUS_BYTES == 1 << BEAT_SIZE, "the tables' bus is 64 to 512 bits wide");
constexpr int REGISTER_BYTES = 0xF;

// Bytes [first, first + bytes) of the tables' bus in one burst. Its first and last beats may contain other bytes, too.
struct Burst {
    std::uint32_t first, bytes;

    static Burst next(std::uint32_t first, std::uint32_t left) {
        const std::uint32_t aligned = first / BUS_BYTES * BUS_BYTES;
        const std::uint32_t end = std::min(aligned + BEATS * BUS_BYTES, (first / BOUNDARY + 1) * BOUNDARY);
        return {first, std::min(left, end - first)};
    }
    std::uint32_t base() const { return first / BUS_BYTES * BUS_BYTES; }
    std::uint32_t beats() const { return (first + bytes - base() + BUS_BYTES - 1) / BUS_BYTES; }
    // The first and the end of the bytes of a beat that belong to the burst, from the beginning of the beat.
    std::uint32_t low(std::uint32_t beat) const { return beat ? 0 : first - base(); }
    std::uint32_t high(std::uint32_t beat) const { return std::min(BUS_BYTES, first + bytes - base() - beat * BUS_BYTES); }
    // The place of these bytes in the data of the burst.
    std::uint32_t place(std::uint32_t beat) const { return base() + beat * BUS_BYTES + low(beat) - first; }
};

struct Board {
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vtop> top;
    std::uint64_t clocks = 0;
    std::string error;

    Board(int seed) : context(new VerilatedContext) {
        enter();
        context->threads(1);
        // In hardware, memories and registers have arbitrary content until they are written or reset.
        context->randReset(2);
        context->randSeed(seed);
        top.reset(new Vtop(context.get(), "beltline"));
        top->s_axi_registers_awvalid = top->s_axi_registers_wvalid = top->s_axi_registers_arvalid = 0;
        top->s_axi_tables_awvalid = top->s_axi_tables_wvalid = top->s_axi_tables_arvalid = 0;
        // Answers are always accepted.
        top->s_axi_registers_bready = top->s_axi_registers_rready = 1;
        top->s_axi_tables_bready = top->s_axi_tables_rready = 1;
        top->s_axi_registers_wstrb = REGISTER_BYTES;
        top->s_axi_tables_awid = top->s_axi_tables_arid = 0;
        top->s_axi_tables_awburst = top->s_axi_tables_arburst = INCR;
        top->s_axi_tables_awsize = top->s_axi_tables_arsize = BEAT_SIZE;
        top->rst = 1;
        for (int i = 0; i < RESET_CLOCKS; ++i) clock();
        top->rst = 0;
    }

    ~Board() {
        enter();
        // This frees the blocks that were compiled separately.
        if (top) top->final();
        top.reset();
        Verilated::threadContextp(Verilated::defaultContextp());
    }

    // Verilator also uses the context that is set for the thread, which may be that of another board.
    void enter() { Verilated::threadContextp(context.get()); }

    // Evaluate the combinational logic for the inputs of this clock.
    void settle() {
        top->clk = 0;
        top->eval();
    }

    void rise() {
        top->clk = 1;
        top->eval();
        ++clocks;
    }

    void clock() {
        settle();
        rise();
    }

    std::uint32_t read_register(std::uint32_t offset) {
        top->s_axi_registers_araddr = offset;
        top->s_axi_registers_arvalid = 1;
        for (int idle = 0; idle < PATIENCE; ++idle) {
            settle();
            const bool asked = top->s_axi_registers_arvalid && top->s_axi_registers_arready;
            const bool answered = top->s_axi_registers_rvalid;
            const std::uint32_t data = top->s_axi_registers_rdata;
            const int response = top->s_axi_registers_rresp;
            rise();
            if (asked) top->s_axi_registers_arvalid = 0;
            if (answered) {
                check(response, "read", "register");
                return data;
            }
        }
        top->s_axi_registers_arvalid = 0;
        throw std::runtime_error("the register bus does not answer a read");
    }

    void write_register(std::uint32_t offset, std::uint32_t data) {
        top->s_axi_registers_awaddr = offset;
        top->s_axi_registers_awvalid = 1;
        top->s_axi_registers_wdata = data;
        top->s_axi_registers_wvalid = 1;
        for (int idle = 0; idle < PATIENCE; ++idle) {
            settle();
            const bool address = top->s_axi_registers_awvalid && top->s_axi_registers_awready;
            const bool word = top->s_axi_registers_wvalid && top->s_axi_registers_wready;
            const bool answered = top->s_axi_registers_bvalid;
            const int response = top->s_axi_registers_bresp;
            rise();
            if (address) top->s_axi_registers_awvalid = 0;
            if (word) top->s_axi_registers_wvalid = 0;
            if (answered) return check(response, "write", "register");
        }
        top->s_axi_registers_awvalid = top->s_axi_registers_wvalid = 0;
        throw std::runtime_error("the register bus does not answer a write");
    }

    void write_burst(const Burst burst, const std::uint8_t* data) {
        std::uint32_t beat = 0;
        auto offer = [&] {
            top->s_axi_tables_wvalid = beat < burst.beats();
            if (!top->s_axi_tables_wvalid) return;
            const std::uint32_t low = burst.low(beat), count = burst.high(beat) - low;
            std::uint8_t bytes[BUS_BYTES] = {};
            std::memcpy(bytes + low, data + burst.place(beat), count);
            std::memcpy(&top->s_axi_tables_wdata, bytes, BUS_BYTES);
            top->s_axi_tables_wstrb = (~0ULL >> (64 - count)) << low;
            top->s_axi_tables_wlast = beat + 1 == burst.beats();
        };
        top->s_axi_tables_awaddr = burst.first;
        top->s_axi_tables_awlen = burst.beats() - 1;
        top->s_axi_tables_awvalid = 1;
        offer();
        for (int idle = 0; idle < PATIENCE; ++idle) {
            settle();
            const bool address = top->s_axi_tables_awvalid && top->s_axi_tables_awready;
            const bool word = top->s_axi_tables_wvalid && top->s_axi_tables_wready;
            const bool answered = top->s_axi_tables_bvalid;
            const int response = top->s_axi_tables_bresp;
            rise();
            if (answered) return check(response, "write", "tables'");
            if (address) top->s_axi_tables_awvalid = 0;
            if (word) {
                ++beat;
                offer();
                idle = 0;
            }
        }
        top->s_axi_tables_awvalid = top->s_axi_tables_wvalid = 0;
        throw std::runtime_error("the tables' bus does not answer a write");
    }

    void read_burst(const Burst burst, std::uint8_t* data) {
        top->s_axi_tables_araddr = burst.first;
        top->s_axi_tables_arlen = burst.beats() - 1;
        top->s_axi_tables_arvalid = 1;
        std::uint32_t beat = 0;
        int response = 0;
        for (int idle = 0; idle < PATIENCE; ++idle) {
            settle();
            const bool address = top->s_axi_tables_arvalid && top->s_axi_tables_arready;
            const bool word = top->s_axi_tables_rvalid;
            std::uint8_t bytes[BUS_BYTES];
            if (word) {
                std::memcpy(bytes, &top->s_axi_tables_rdata, BUS_BYTES);
                response |= top->s_axi_tables_rresp;
            }
            rise();
            if (address) top->s_axi_tables_arvalid = 0;
            if (word) {
                std::memcpy(data + burst.place(beat), bytes + burst.low(beat), burst.high(beat) - burst.low(beat));
                idle = 0;
                if (++beat == burst.beats()) return check(response, "read", "tables'");
            }
        }
        top->s_axi_tables_arvalid = 0;
        throw std::runtime_error("the tables' bus does not answer a read");
    }

    static void check(int response, const char* what, const char* bus) {
        if (response) throw std::runtime_error(std::string("the ") + bus + " bus refused a " + what + " (SLVERR)");
    }
};

template <typename Call>
int guarded(Board* board, Call call) {
    try {
        board->enter();
        call();
        return 0;
    } catch (const std::exception& error) {
        board->error = error.what();
        return 1;
    }
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

Board* board_open(int seed, char* error, std::size_t size) {
    try {
        return new Board(seed);
    } catch (const std::exception& caught) {
        std::strncpy(error, caught.what(), size - 1);
        return nullptr;
    }
}

void board_close(Board* board) { delete board; }

const char* board_error(Board* board) { return board->error.c_str(); }

std::uint64_t board_clocks(Board* board) { return board->clocks; }

int board_read_register(Board* board, std::uint32_t offset, std::uint32_t* data) {
    return guarded(board, [&] { *data = board->read_register(offset); });
}

int board_write_register(Board* board, std::uint32_t offset, std::uint32_t data) {
    return guarded(board, [&] { board->write_register(offset, data); });
}

int board_write_block(Board* board, std::uint32_t offset, const std::uint8_t* data, std::uint32_t bytes) {
    return guarded(board, [&] {
        for (std::uint32_t done = 0; done < bytes;) {
            const Burst burst = Burst::next(offset + done, bytes - done);
            board->write_burst(burst, data + done);
            done += burst.bytes;
        }
    });
}

int board_read_block(Board* board, std::uint32_t offset, std::uint8_t* data, std::uint32_t bytes) {
    return guarded(board, [&] {
        for (std::uint32_t done = 0; done < bytes;) {
            const Burst burst = Burst::next(offset + done, bytes - done);
            board->read_burst(burst, data + done);
            done += burst.bytes;
        }
    });
}

// The name that Verilator gives to a port whose own name it reserves.
#define INTERRUPT __SYM__interrupt

// Runs until the interrupt line is high or for about `seconds`; `interrupted` says which.
int board_run(Board* board, double seconds, int* interrupted) {
    return guarded(board, [&] {
        using Time = std::chrono::steady_clock;
        const auto end = Time::now() + std::chrono::duration<double>(seconds);
        *interrupted = board->top->INTERRUPT;
        while (!*interrupted && Time::now() < end) {
            for (int i = 0; i < CLOCKS_PER_LOOK && !*interrupted; ++i) {
                board->clock();
                *interrupted = board->top->INTERRUPT;
            }
        }
    });
}

}  // extern "C"

#pragma GCC visibility pop
