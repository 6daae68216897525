// The simulated board at the end of a serial line. A transmitter and a receiver, which share no code with those of the
// gateware, send and receive bytes at its two pins, bit by bit.

#include <cstdint>
#include <cstring>
#include <deque>
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

constexpr int RESET_CLOCKS = 8;
constexpr int FRAME_BITS = 10;
constexpr int MIDDLE_OF_STOP = FRAME_BITS - 1;

struct Board {
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vtop> top;
    std::uint64_t clocks = 0;
    std::uint32_t divisor;
    std::string error;

    // To the gateware: bytes to send; the byte on the line with its start and stop bits; clocks left of the present bit.
    std::deque<std::uint8_t> queue;
    std::uint32_t sending = 0, bits_left = 0, bit_clocks = 0;
    // From the gateware: clocks since the edge of the start bit, and the bits received so far.
    std::int64_t since = -1;
    std::uint32_t received = 0;

    Board(int seed, std::uint32_t divisor) : context(new VerilatedContext), divisor(divisor) {
        enter();
        context->threads(1);
        // In hardware, memories and registers have arbitrary content until they are written or reset.
        context->randReset(2);
        context->randSeed(seed);
        top.reset(new Vtop(context.get(), "beltline"));
        top->rx = 1;
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

    void clock() {
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
        ++clocks;
    }

    void drive() {
        if (bit_clocks == 0 && bits_left == 0 && !queue.empty()) {
            sending = 1u << MIDDLE_OF_STOP | static_cast<std::uint32_t>(queue.front()) << 1;
            queue.pop_front();
            bits_left = FRAME_BITS;
        }
        if (bit_clocks == 0 && bits_left) {
            top->rx = sending & 1;
            sending >>= 1;
            --bits_left;
            bit_clocks = divisor;
        }
        if (bit_clocks) --bit_clocks;
    }

    // Returns true when a byte is complete; `received` then has it.
    bool sample() {
        if (since < 0) {
            if (!top->tx) since = received = 0;
            return false;
        }
        ++since;
        if (since % divisor != divisor / 2) return false;
        const std::uint32_t bit = since / divisor;
        if (bit == 0) {
            if (top->tx) since = -1;
        } else if (bit < MIDDLE_OF_STOP) {
            received |= static_cast<std::uint32_t>(top->tx) << (bit - 1);
        } else {
            if (!top->tx) throw std::runtime_error("the gateware sent a byte without a stop bit");
            since = -1;
            return true;
        }
        return false;
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

Board* board_open(int seed, std::uint32_t divisor, char* error, std::size_t size) {
    try {
        return new Board(seed, divisor);
    } catch (const std::exception& caught) {
        std::strncpy(error, caught.what(), size - 1);
        return nullptr;
    }
}

void board_close(Board* board) { delete board; }

const char* board_error(Board* board) { return board->error.c_str(); }

std::uint64_t board_clocks(Board* board) { return board->clocks; }

// Appends `count` bytes to those to be sent, runs `clocks` clocks, and stores the bytes received in `answer` and their
// number in `came`. `room` is the size of `answer`, at least clocks / divisor / 10 + 1. `active` becomes 1 if a byte is on
// the line or a run is in progress, else 0.
int board_run(Board* board, const std::uint8_t* data, std::uint32_t count, std::uint32_t clocks, std::uint8_t* answer,
              std::uint32_t room, std::uint32_t* came, int* active) {
    return guarded(board, [&] {
        board->queue.insert(board->queue.end(), data, data + count);
        *came = 0;
        for (std::uint32_t i = 0; i < clocks; ++i) {
            board->drive();
            board->clock();
            if (board->sample()) {
                if (*came == room) throw std::runtime_error("more bytes came than there is room for");
                answer[(*came)++] = board->received;
            }
        }
        *active = board->top->busy || board->since >= 0 || board->bits_left || board->bit_clocks || !board->queue.empty();
    });
}

}  // extern "C"

#pragma GCC visibility pop
