// AMX's tile registers, as blocks of C of up to 32×32 use them: 0 to 3 hold sums (upper left, upper
// right, lower left, lower right), 4 and 5 the upper and lower rows of A, 6 and 7 the left and
// right columns of B. They are numbered in the instructions, so each use is written out.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "cpu/tile_products.hpp"

namespace tessera::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kRowBytes = 64;
constexpr int kTileCols = kRowBytes / 4;  // of sums, and groups of k of B
static_assert(kTileCols == kTileRows);
constexpr int kBlock = 2 * kTileRows;                      // rows and columns of C in registers
constexpr std::int64_t kChunkBytesA = kBlock * kRowBytes;  // of a packed strip, for 64 bytes of k
constexpr std::int64_t kChunkBytesB = kTileCols * kBlock * 4;  // of a panel, the same
constexpr std::int64_t kPitchB = kBlock * 4;                   // of its groups of k

// Of so many that are left, those that go together: none up to `most`.
constexpr int some_of(std::int64_t left, int most) {
  return left <= 0 ? 0 : left < most ? static_cast<int>(left) : most;
}

// Keeps the compiler from moving stores behind the tile instructions, whose intrinsics do not say
// all that they read (GCC 12 to 14).
inline void finish_stores() {
  asm volatile("" ::: "memory");
}

// How large the registers are.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  void set(int tile, int tile_rows, int bytes) {
    rows[tile] = static_cast<std::uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};

// Where a block's sums come from, or go to; nowhere where null.
struct SumPlace {
  void* at = nullptr;
  std::int64_t pitch = 0;  // bytes from row to row

  // Of the quarter that so many tile registers are above and to the left of.
  unsigned char* part(int above, int left) const {
    return static_cast<unsigned char*>(at) + above * kTileRows * pitch + left * kRowBytes;
  }
};

// A block's rows of C, to be fetched while one is multiplied, some with each 64 bytes of k. Its
// stores need them most if they lie across lines: of such a store the processor does not ask for
// both lines ahead. Blocks with 192 bytes of k beside C in the second-level cache, Granite Rapids,
// 2026-11, microseconds for 121: on lines 14.7, across them 29, fetched before 16.5.
struct RowsToFetch {
  const unsigned char* next = nullptr;
  std::int64_t pitch = 0;
  int bytes = 0;  // of each
  bool cross_lines = false;
  int left = 0;
  int at_once = 0;

  // Asked for with every 64 bytes of k: a call takes 1 % of i8 256³.
  [[gnu::always_inline]] void fetch_some() {
    if (left == 0) return;
    for (int row = some_of(left, at_once); row > 0; --row, --left, next += pitch) {
      __builtin_prefetch(next, 1, 3);
      if (bytes > kRowBytes) __builtin_prefetch(next + kRowBytes, 1, 3);
      if (cross_lines) __builtin_prefetch(next + bytes - 1, 1, 3);
    }
  }
};

// A block's sums, a whole panel's columns of them, that have been stored apart and are added to
// those before them by vectors, some rows with each 64 bytes of k of the next block.
struct RowsToAdd {
  const float* value = nullptr;  // rows of kBlock
  float* sum = nullptr;
  std::int64_t stride = 0;
  int left = 0;

  [[gnu::always_inline]] void add_some(int rows) {
    for (int row = some_of(left, rows); row > 0; --row, --left, value += kBlock, sum += stride) {
      for (int col = 0; col < kBlock; col += kTileCols) {
        const __m512 before = _mm512_loadu_ps(sum + col);
        _mm512_storeu_ps(sum + col, _mm512_add_ps(before, _mm512_loadu_ps(value + col)));
      }
    }
  }
};

// Up to 32 rows of A: of a packed panel, or where they lie. In bytes.
struct Strip {
  const unsigned char* data = nullptr;
  std::int64_t pitch = 0;  // from row to row
  std::int64_t step = 0;   // along k, to the next chunk
  // Of several chunks, the last one, rows of kRowBytes, where A's rows end before it does; or null.
  const unsigned char* end = nullptr;

  void end_at(const unsigned char* last, std::int64_t chunks) {
    if (last == nullptr) return;
    if (chunks == 1) {
      *this = {last, kRowBytes, 0};
    } else {
      end = last;
    }
  }
  // One chunk on, which is the last one or not.
  Strip next(bool is_last) const {
    if (is_last && end != nullptr) return {end, kRowBytes, 0};
    return {data + step, pitch, step, end};
  }
};

// One of the registers that hold sums, from left to right and downwards.
template <int Number>
struct SumRegister {
  static constexpr int kAbove = Number / 2;
  static constexpr int kLeft = Number % 2;

  static void zero() {
    if constexpr (Number == 0) _tile_zero(0);
    if constexpr (Number == 1) _tile_zero(1);
    if constexpr (Number == 2) _tile_zero(2);
    if constexpr (Number == 3) _tile_zero(3);
  }
  static void load(const SumPlace& from) {
    const unsigned char* const at = from.part(kAbove, kLeft);
    if constexpr (Number == 0) _tile_loadd(0, at, from.pitch);
    if constexpr (Number == 1) _tile_loadd(1, at, from.pitch);
    if constexpr (Number == 2) _tile_loadd(2, at, from.pitch);
    if constexpr (Number == 3) _tile_loadd(3, at, from.pitch);
  }
  static void store(const SumPlace& to) {
    unsigned char* const at = to.part(kAbove, kLeft);
    if constexpr (Number == 0) _tile_stored(0, at, to.pitch);
    if constexpr (Number == 1) _tile_stored(1, at, to.pitch);
    if constexpr (Number == 2) _tile_stored(2, at, to.pitch);
    if constexpr (Number == 3) _tile_stored(3, at, to.pitch);
  }
  // The sums of a block make room for the next one's.
  [[gnu::always_inline]] static void exchange(SumPlace to, SumPlace from) {
    if (to.at != nullptr) store(to);
    from.at != nullptr ? load(from) : zero();
  }
};

// Which operands' rows or columns are multiplied again soon, and are loaded so that they stay in
// the nearest cache; another's pass it by. By such loads of what does stay there, i8 1024³
// takes 1.15 times as long (Granite Rapids, 2026-11).
enum class Staying { a, b, both };

// The registers that hold a block's operands, and what multiplies them. `Low`: it has more rows
// than a register, `Wide`: more columns.
template <class M, Staying What, bool Low, bool Wide>
struct BlockRegisters {
  using Multiply = M;
  static constexpr bool kLow = Low;
  static constexpr bool kWide = Wide;
  static constexpr bool kStaysA = What != Staying::b;
  static constexpr bool kStaysB = What != Staying::a;

  static Strip first_part(Strip a) {
    a.data += M::kFirstPartA * kChunkBytesA;
    return a;
  }
  static const unsigned char* first_part(const unsigned char* b) {
    return b + M::kFirstPartB * kChunkBytesB;
  }
  // A chunk's first parts.
  static void load(const Strip& a_chunk, const unsigned char* b_chunk) {
    const Strip a = first_part(a_chunk);
    const unsigned char* const b = first_part(b_chunk);
    load_left_b(b);
    load_upper_a(a);
    load_right_b(b);
    load_lower_a(a);
  }
  static void load_upper_a(const Strip& a) {
    if constexpr (kStaysA) _tile_loadd(4, a.data, a.pitch);
    if constexpr (!kStaysA) _tile_stream_loadd(4, a.data, a.pitch);
  }
  static void load_lower_a(const Strip& a) {
    const unsigned char* const lower = a.data + kTileRows * a.pitch;
    if constexpr (Low && kStaysA) _tile_loadd(5, lower, a.pitch);
    if constexpr (Low && !kStaysA) _tile_stream_loadd(5, lower, a.pitch);
  }
  static void load_left_b(const unsigned char* b) {
    if constexpr (kStaysB) _tile_loadd(6, b, kPitchB);
    if constexpr (!kStaysB) _tile_stream_loadd(6, b, kPitchB);
  }
  static void load_right_b(const unsigned char* b) {
    if constexpr (Wide && kStaysB) _tile_loadd(7, b + kRowBytes, kPitchB);
    if constexpr (Wide && !kStaysB) _tile_stream_loadd(7, b + kRowBytes, kPitchB);
  }
};

// Which operands' registers take others.
enum class Takes { nothing, a, b, both };

// Owns the tile registers while blocks are multiplied. Beside a busy hardware thread a core takes
// loads and products one after another, and their order counts. From the second step on, each
// register takes the next step's operand behind the last product that reads it: Emerald Rapids, one
// thread, 2026-11, operands in the nearest cache, 1.06 times as fast beside such a thread as four
// loads and then four products, and the same with the core to itself; 14 products of 64³ to
// 512³ in i8 and bf16 1.02 to 1.03, f16 1.01. The first step's sums are exchanged, and loads
// between their stores made a short k take 1.04 times as long: all operands of the first two steps
// are loaded before the products. With the lower rows of A loaded between products, i8 512³
// took 1.09 times as long, bf16 512³ 1.08, 1024³ 1.10.
//
// The sums of a block stay in them until the next block's first products need them: a register is
// stored, loaded and multiplied into one after another, while the others are busy. Granite Rapids,
// 2026-11, operands and sums in the nearest cache, blocks with 512 bytes of k, TFLOP/s: 3.5 so, 2.8
// with all sums loaded first and stored last, 3.6 with sums that stay.
class TileRegisters {
 public:
  // For blocks of up to so many rows and columns; `depth_bytes` of k at a time, all of it where
  // that is less than 64.
  TileRegisters(int rows, int cols, int depth_bytes) : depth_bytes_(depth_bytes) {
    fit(rows, cols);
  }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
  // What has not been flushed is lost.
  ~TileRegisters() { _tile_release(); }

  // The same from now on. Takes as long as some products of tile registers.
  void fit(int rows, int cols) {
    if (rows == rows_ && cols == cols_) return;
    flush();
    rows_ = rows;
    cols_ = cols;
    // Those that a narrow block does not need keep their full size.
    const auto part = [](int size, int half) {
      const int some = some_of(size - half * kTileRows, kTileRows);
      return some > 0 ? some : kTileRows;
    };
    TileConfiguration configuration;
    for (int half = 0; half < 2; ++half) {
      for (int left = 0; left < 2; ++left) {
        configuration.set(2 * half + left, part(rows, half), 4 * part(cols, left));
      }
      configuration.set(4 + half, part(rows, half), depth_bytes_);
      configuration.set(6 + half, depth_bytes_ / 4, 4 * part(cols, half));
    }
    finish_stores();
    _tile_loadconfig(&configuration);
  }

  // Whether blocks of so many are stored without anything beside them.
  bool hold_just(int rows, int cols) const { return rows == rows_ && cols == cols_; }

  // A block's sums, which go to `to` some time until flush(): those at `from`, or zeros, plus strip
  // times panel of B over `chunks` of 64 bytes of k, one or more. Of registers that hold more than
  // the block's rows and columns all is stored that is in use; and read, of A, B and `from`.
  template <class Multiply, Staying What>
  void multiply(const Strip& a, const unsigned char* b, std::int64_t chunks, int rows, int cols,
                const SumPlace& from, const SumPlace& to, const RowsToAdd& to_add = {}) {
    const bool is_low = rows > kTileRows;
    const bool is_wide = cols > kTileCols;
    if (is_low != is_low_ || is_wide != is_wide_) {
      flush();
      is_low_ = is_low;
      is_wide_ = is_wide;
    }
    finish_stores();
    if (is_low) {
      is_wide ? multiply_as<BlockRegisters<Multiply, What, true, true>>(a, b, chunks, from)
              : multiply_as<BlockRegisters<Multiply, What, true, false>>(a, b, chunks, from);
    } else {
      is_wide ? multiply_as<BlockRegisters<Multiply, What, false, true>>(a, b, chunks, from)
              : multiply_as<BlockRegisters<Multiply, What, false, false>>(a, b, chunks, from);
    }
    to_ = to;
    if constexpr (Multiply::kAddsByVectors) to_add_ = to_add;
  }

  // The same block's further chunks of k, behind those that multiply() had.
  template <class Multiply, Staying What>
  void go_on(const Strip& a, const unsigned char* b, std::int64_t chunks) {
    finish_stores();
    if (is_low_) {
      is_wide_ ? go_on_as<BlockRegisters<Multiply, What, true, true>>(a, b, chunks)
               : go_on_as<BlockRegisters<Multiply, What, true, false>>(a, b, chunks);
    } else {
      is_wide_ ? go_on_as<BlockRegisters<Multiply, What, false, true>>(a, b, chunks)
               : go_on_as<BlockRegisters<Multiply, What, false, false>>(a, b, chunks);
    }
  }

  // Panels of B are fetched so many bytes ahead, from now on.
  void fetch_panels(std::int64_t bytes_ahead) { panels_ahead_ = bytes_ahead; }

  // Rows of C to fetch while the next block is multiplied.
  void fetch_beside(const RowsToFetch& rows) { to_fetch_ = rows; }

  // Stores the sums that are still in registers, and adds them to others where they are to be.
  void flush() {
    if (to_.at == nullptr) return;
    SumRegister<0>::store(to_);
    if (is_wide_) SumRegister<1>::store(to_);
    if (is_low_) SumRegister<2>::store(to_);
    if (is_low_ && is_wide_) SumRegister<3>::store(to_);
    to_ = {};
    finish_stores();
    to_add_.add_some(kBlock);
    to_add_ = {};
  }

 private:
  // Inlined, for arguments in memory would be read beside the stores of a block's sums, and wait
  // for those whose addresses look alike, a multiple of 4 KB away: Emerald Rapids, one thread,
  // 2026-11, f16 64×96×32 takes 1.1 times as long.
  template <class Block>
  [[gnu::always_inline]] void multiply_as(Strip a, const unsigned char* b, std::int64_t chunks,
                                          SumPlace from) {
    constexpr std::int64_t kStepB = Block::Multiply::kParts * kChunkBytesB;
    const SumPlace to = to_;
    to_fetch_.fetch_some();
    fetch_chunk<Block>(b);
    Block::load(a, b);
    multiply_chunk<Block, true, false>(a, b, {}, to, from);
    if (chunks > 1) go_on_as<Block>(a.next(chunks == 2), b + kStepB, chunks - 1);
    if constexpr (Block::Multiply::kAddsByVectors) to_add_.add_some(kBlock);
  }

  template <class Block>
  [[gnu::always_inline]] void go_on_as(Strip a, const unsigned char* b, std::int64_t chunks) {
    constexpr std::int64_t kStepB = Block::Multiply::kParts * kChunkBytesB;
    Block::load(a, b);
    if constexpr (Block::Multiply::kAddsByVectors) finish_stores();
    const auto rows_at_once = static_cast<int>((to_add_.left + chunks - 1) / chunks);
    for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
      const Strip next = a.next(chunk + 1 == chunks);
      to_fetch_.fetch_some();
      fetch_chunk<Block>(b);
      if constexpr (Block::Multiply::kAddsByVectors) to_add_.add_some(rows_at_once);
      multiply_chunk<Block, false, true>(a, b, next, {}, {});
      a = next;
      b += kStepB;
    }
    to_fetch_.fetch_some();
    fetch_chunk<Block>(b);
    multiply_chunk<Block, false, false>(a, b, {}, {}, {});
  }

  // The chunk of a panel so far ahead.
  template <class Block>
  [[gnu::always_inline]] void fetch_chunk(const unsigned char* b) const {
    if (panels_ahead_ == 0) return;
    constexpr std::int64_t kBytes = Block::Multiply::kParts * kChunkBytesB;
    const unsigned char* line = b + panels_ahead_;
#pragma GCC unroll 8
    for (std::int64_t at = 0; at < kBytes; at += kRowBytes) __builtin_prefetch(line + at, 0, 2);
  }

  // A chunk of k, whose first parts are in registers. Of the block's `First` one the sums are
  // exchanged; if it `LoadsNext`, the next one's first parts are there behind it.
  template <class Block, bool First, bool LoadsNext>
  [[gnu::always_inline]] static void multiply_chunk(const Strip& a, const unsigned char* b,
                                                    const Strip& next, SumPlace to, SumPlace from) {
    using Multiply = typename Block::Multiply;
    constexpr Takes kNext = LoadsNext ? Takes::both : Takes::nothing;
    const Strip next_a = LoadsNext ? Block::first_part(next) : Strip();
    const unsigned char* const next_b =
        LoadsNext ? Block::first_part(b + Multiply::kParts * kChunkBytesB) : nullptr;
    const auto then_a = [&]<bool kFirst>(int part, std::bool_constant<kFirst>)
        __attribute__((always_inline)) {
      Strip strip = a;
      strip.data += part * kChunkBytesA;
      multiply_parts<Block, Takes::a, kFirst>(strip, b, to, from);
    };
    const auto then_b = [&]<bool kFirst>(int part, std::bool_constant<kFirst>)
        __attribute__((always_inline)) {
      multiply_parts<Block, Takes::b, kFirst>(a, b + part * kChunkBytesB, to, from);
    };
    constexpr std::bool_constant<First> kExchanges;
    constexpr std::false_type kGoesOn;
    // One operand's part changes each time.
    if constexpr (Multiply::kParts == 1) {
      multiply_parts<Block, kNext, First>(next_a, next_b, to, from);
      return;
    } else if constexpr (Multiply::kParts == 2 && Multiply::kTurned) {
      then_b(1, kExchanges);
      then_a(1, kGoesOn);
      then_b(0, kGoesOn);
    } else if constexpr (Multiply::kParts == 2) {
      then_a(1, kExchanges);
      then_b(1, kGoesOn);
      then_a(0, kGoesOn);
    } else if constexpr (Multiply::kTurned) {
      then_b(1, kExchanges);
      then_a(1, kGoesOn);
      then_b(0, kGoesOn);
      then_a(2, kGoesOn);
      then_a(0, kGoesOn);
    } else {
      then_a(1, kExchanges);
      then_b(1, kGoesOn);
      then_a(0, kGoesOn);
      then_b(2, kGoesOn);
      then_b(0, kGoesOn);
    }
    multiply_parts<Block, kNext, false>(next_a, next_b, {}, {});
  }

  // The products of what is in registers, whose sums are exchanged before the `First` ones; the
  // registers of `Next` hold that part of `a` or `b` behind them.
  template <class Block, Takes Next, bool First>
  [[gnu::always_inline]] static void multiply_parts(const Strip& a, const unsigned char* b,
                                                    SumPlace to, SumPlace from) {
    using Multiply = typename Block::Multiply;
    constexpr bool kTakesA = Next == Takes::a || Next == Takes::both;
    constexpr bool kTakesB = Next == Takes::b || Next == Takes::both;
    if constexpr (First) SumRegister<0>::exchange(to, from);
    Multiply::upper_left();
    if constexpr (Block::kWide) {
      if constexpr (First) SumRegister<1>::exchange(to, from);
      Multiply::upper_right();
    }
    if constexpr (kTakesA) Block::load_upper_a(a);
    if constexpr (Block::kLow) {
      if constexpr (First) SumRegister<2>::exchange(to, from);
      Multiply::lower_left();
    }
    if constexpr (kTakesB) Block::load_left_b(b);
    if constexpr (Block::kLow && Block::kWide) {
      if constexpr (First) SumRegister<3>::exchange(to, from);
      Multiply::lower_right();
    }
    if constexpr (kTakesB) Block::load_right_b(b);
    if constexpr (kTakesA) Block::load_lower_a(a);
  }

  RowsToFetch to_fetch_;
  std::int64_t panels_ahead_ = 0;
  RowsToAdd to_add_;  // of the sums in registers, or right behind their exchange of those before
  int depth_bytes_ = kRowBytes;
  int rows_ = 0;
  int cols_ = 0;
  bool is_low_ = false;
  bool is_wide_ = false;
  SumPlace to_;  // of the sums in registers
};

}  // namespace
}  // namespace tessera::cpu
