// The simulated board: the machine's ports behind the calls of a driver. Loops over words and clocks are here, so that
// Python makes one call a block.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vtop.h"
#include "verilated.h"

// Verilator's own version ends the process.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(message) + " (" + file + ":" + std::to_string(line) + ")");
}

namespace {

// Clocks after which a read that has not come back will not come back any more.
constexpr int READ_PATIENCE = 1024;

// Clocks between two looks at the time: fewer than take 0.1 s on any machine that is worth simulating.
constexpr int CLOCKS_PER_LOOK = 64;

constexpr int RESET_CLOCKS = 8;

struct Board {
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vtop> top;
    std::uint64_t clocks = 0;
    std::string error;

    Board(int seed) : context(new VerilatedContext) {
        enter();
        context->threads(1);
        // Memories and registers that nothing has set yet hold anything in hardware.
        context->randReset(2);
        context->randSeed(seed);
        top.reset(new Vtop(context.get(), "beltline"));
        top->clk = 0;
        top->register_address = 0;
        top->register_write = 0;
        top->register_write_data = 0;
        top->table_select = 0;
        top->table_address = 0;
        top->table_write = 0;
        top->table_write_data = 0;
        top->table_read = 0;
        top->rst = 1;
        for (int i = 0; i < RESET_CLOCKS; ++i) clock();
        top->rst = 0;
    }

    ~Board() {
        enter();
        // Blocks compiled apart are freed by it.
        if (top) top->final();
        top.reset();
        Verilated::threadContextp(Verilated::defaultContextp());
    }

    // Verilator keeps a context a thread, which it uses besides that of the model, and which may be another board's.
    void enter() { Verilated::threadContextp(context.get()); }

    // Inputs set before a clock act in it; outputs read after it are what it left.
    void clock() {
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
        ++clocks;
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

int board_done(Board* board) { return board->top->done; }

int board_read_register(Board* board, std::uint32_t number, std::uint32_t* data) {
    return guarded(board, [&] {
        board->top->register_address = number;
        board->clock();
        *data = board->top->register_read_data;
    });
}

int board_write_register(Board* board, std::uint32_t number, std::uint32_t data) {
    return guarded(board, [&] {
        board->top->register_address = number;
        board->top->register_write_data = data;
        board->top->register_write = 1;
        board->clock();
        board->top->register_write = 0;
    });
}

int board_write_block(Board* board, std::uint32_t table, std::uint32_t first, const std::uint64_t* words,
                      std::uint32_t count) {
    return guarded(board, [&] {
        board->top->table_select = table;
        board->top->table_write = 1;
        for (std::uint32_t i = 0; i < count; ++i) {
            board->top->table_address = first + i;
            board->top->table_write_data = words[i];
            board->clock();
        }
        board->top->table_write = 0;
    });
}

// `received` is less than `count` when the words stopped coming.
int board_read_block(Board* board, std::uint32_t table, std::uint32_t first, std::uint64_t* words, std::uint32_t count,
                     std::uint32_t* received) {
    *received = 0;
    return guarded(board, [&] {
        int idle = 0;
        std::uint32_t asked = 0;
        board->top->table_select = table;
        while (*received < count && idle < READ_PATIENCE) {
            board->top->table_read = asked < count;
            board->top->table_address = first + asked;
            asked += asked < count;
            board->clock();
            ++idle;
            if (board->top->table_read_valid) {
                words[(*received)++] = board->top->table_read_data;
                idle = 0;
            }
        }
        board->top->table_read = 0;
    });
}

// Runs until `done` or for about `seconds`.
int board_run(Board* board, double seconds) {
    return guarded(board, [&] {
        using Time = std::chrono::steady_clock;
        const auto end = Time::now() + std::chrono::duration<double>(seconds);
        do {
            for (int i = 0; i < CLOCKS_PER_LOOK; ++i) {
                board->clock();
                if (board->top->done) return;
            }
        } while (Time::now() < end);
    });
}

}  // extern "C"

#pragma GCC visibility pop
