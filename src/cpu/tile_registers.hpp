// AMX's tile registers, as blocks of C of up to 32×32 use them: 0 to 3 hold sums (upper left, upper
// right, lower left, lower right), 4 and 5 the upper and lower rows of A, 6 and 7 the left and
// right columns of B. They are numbered in the instructions, so each use is written out.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

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
  static void exchange(const SumPlace& to, const SumPlace& from) {
    if (to.at != nullptr) store(to);
    from.at != nullptr ? load(from) : zero();
  }
};

// `kParts`: how many parts an element is the sum of. A chunk of k has the first parts, then the
// second ones, and each part of A is multiplied by each of B. Of flat blocks: flat_blocks.hpp.
struct MultiplyBf16 {
  using Acc = float;
  static constexpr int kParts = 1;
  static void upper_left() { _tile_dpbf16ps(0, 4, 6); }
  static void upper_right() { _tile_dpbf16ps(1, 4, 7); }
  static void lower_left() { _tile_dpbf16ps(2, 5, 6); }
  static void lower_right() { _tile_dpbf16ps(3, 5, 7); }
  static void flat_first() { _tile_dpbf16ps(0, 4, 5); }
  static void flat_second() { _tile_dpbf16ps(1, 4, 6); }
  static void flat_third() { _tile_dpbf16ps(2, 4, 5); }
  static void flat_last() { _tile_dpbf16ps(3, 4, 7); }
};
// Turned round, the parts change in the other order, so that the bits are the same.
template <bool Turned>
struct MultiplyTwoBf16 : MultiplyBf16 {
  static constexpr int kParts = 2;
  static constexpr bool kTurned = Turned;
};
struct MultiplyI8I8 {
  using Acc = std::int32_t;
  static constexpr int kParts = 1;
  static void upper_left() { _tile_dpbssd(0, 4, 6); }
  static void upper_right() { _tile_dpbssd(1, 4, 7); }
  static void lower_left() { _tile_dpbssd(2, 5, 6); }
  static void lower_right() { _tile_dpbssd(3, 5, 7); }
  static void flat_first() { _tile_dpbssd(0, 4, 5); }
  static void flat_second() { _tile_dpbssd(1, 4, 6); }
  static void flat_third() { _tile_dpbssd(2, 4, 5); }
  static void flat_last() { _tile_dpbssd(3, 4, 7); }
};
struct MultiplyU8I8 {
  using Acc = std::int32_t;
  static constexpr int kParts = 1;
  static void upper_left() { _tile_dpbusd(0, 4, 6); }
  static void upper_right() { _tile_dpbusd(1, 4, 7); }
  static void lower_left() { _tile_dpbusd(2, 5, 6); }
  static void lower_right() { _tile_dpbusd(3, 5, 7); }
  static void flat_first() { _tile_dpbusd(0, 4, 5); }
  static void flat_second() { _tile_dpbusd(1, 4, 6); }
  static void flat_third() { _tile_dpbusd(2, 4, 5); }
  static void flat_last() { _tile_dpbusd(3, 4, 7); }
};
struct MultiplyI8U8 {
  using Acc = std::int32_t;
  static constexpr int kParts = 1;
  static void upper_left() { _tile_dpbsud(0, 4, 6); }
  static void upper_right() { _tile_dpbsud(1, 4, 7); }
  static void lower_left() { _tile_dpbsud(2, 5, 6); }
  static void lower_right() { _tile_dpbsud(3, 5, 7); }
  static void flat_first() { _tile_dpbsud(0, 4, 5); }
  static void flat_second() { _tile_dpbsud(1, 4, 6); }
  static void flat_third() { _tile_dpbsud(2, 4, 5); }
  static void flat_last() { _tile_dpbsud(3, 4, 7); }
};

// Which operands' rows or columns are multiplied again soon, and are loaded so that they stay in
// the nearest cache; another's pass it by. By such loads of what does stay there, i8 1024³
// takes 1.15 times as long (Granite Rapids, 2026-11).
enum class Staying { a, b, both };

// The registers that hold operands.
template <bool Stays>
struct OperandRegisters {
  static void load_upper_a(const void* at, std::int64_t pitch) {
    if constexpr (Stays) _tile_loadd(4, at, pitch);
    if constexpr (!Stays) _tile_stream_loadd(4, at, pitch);
  }
  static void load_lower_a(const void* at, std::int64_t pitch) {
    if constexpr (Stays) _tile_loadd(5, at, pitch);
    if constexpr (!Stays) _tile_stream_loadd(5, at, pitch);
  }
  static void load_left_b(const void* at, std::int64_t pitch) {
    if constexpr (Stays) _tile_loadd(6, at, pitch);
    if constexpr (!Stays) _tile_stream_loadd(6, at, pitch);
  }
  static void load_right_b(const void* at, std::int64_t pitch) {
    if constexpr (Stays) _tile_loadd(7, at, pitch);
    if constexpr (!Stays) _tile_stream_loadd(7, at, pitch);
  }
};

// Owns the tile registers while blocks are multiplied. All of a step's operands are loaded before
// its products (of two parts A's, and the first of B's), not each before those that need it: beside
// a busy hardware thread a core takes loads and products one after another, and so goes from one to
// the other less often. Emerald Rapids, one thread, 2026-11, the time with the lower rows of A
// loaded between products over the time so, beside such a thread: i8 256³ 1.04, 512³ 1.09,
// 1000³ 1.14, 192×192×16384 1.06, bf16 256³ 1.11, 512³ 1.08, 1024³ 1.10, 128×3072×768 1.01,
// 200×2000×128 1.00, f16 256³ to 1024³ 1.04 to 1.06; with the core to itself i8 1024³ 1.09, bf16
// 1000³ 1.02.
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
                const SumPlace& from, const SumPlace& to) {
    const bool is_low = rows > kTileRows;
    const bool is_wide = cols > kTileCols;
    if (is_low != is_low_ || is_wide != is_wide_) {
      flush();
      is_low_ = is_low;
      is_wide_ = is_wide;
    }
    finish_stores();
    if (is_low) {
      is_wide ? multiply_as<Multiply, What, true, true>(a, b, chunks, from)
              : multiply_as<Multiply, What, true, false>(a, b, chunks, from);
    } else {
      is_wide ? multiply_as<Multiply, What, false, true>(a, b, chunks, from)
              : multiply_as<Multiply, What, false, false>(a, b, chunks, from);
    }
    to_ = to;
  }

  // Rows of what the next block's sums go to, for that block.
  void fetch_beside(const RowsToFetch& rows) { to_fetch_ = rows; }

  // Stores the sums that are still in registers.
  void flush() {
    if (to_.at == nullptr) return;
    SumRegister<0>::store(to_);
    if (is_wide_) SumRegister<1>::store(to_);
    if (is_low_) SumRegister<2>::store(to_);
    if (is_low_ && is_wide_) SumRegister<3>::store(to_);
    to_ = {};
  }

 private:
  // `Low`: the block has more rows than a register, `Wide`: more columns.
  template <class Multiply, Staying What, bool Low, bool Wide>
  void multiply_as(Strip a, const unsigned char* b, std::int64_t chunks, const SumPlace& from) {
    using A = OperandRegisters<What != Staying::b>;
    using B = OperandRegisters<What != Staying::a>;
    to_fetch_.fetch_some();
    B::load_left_b(b, kPitchB);
    A::load_upper_a(a.data, a.pitch);
    if constexpr (Wide) B::load_right_b(b + kRowBytes, kPitchB);
    if constexpr (Low) A::load_lower_a(a.data + kTileRows * a.pitch, a.pitch);
    SumRegister<0>::exchange(to_, from);
    Multiply::upper_left();
    if constexpr (Wide) {
      SumRegister<1>::exchange(to_, from);
      Multiply::upper_right();
    }
    if constexpr (Low) {
      SumRegister<2>::exchange(to_, from);
      Multiply::lower_left();
      if constexpr (Wide) {
        SumRegister<3>::exchange(to_, from);
        Multiply::lower_right();
      }
    }
    multiply_other_parts<Multiply, What, Low, Wide>(a, b);
    const auto next = [&](const Strip& rows) __attribute__((always_inline)) {
      b += Multiply::kParts * kChunkBytesB;
      to_fetch_.fetch_some();
      B::load_left_b(b, kPitchB);
      A::load_upper_a(rows.data, rows.pitch);
      if constexpr (Wide) B::load_right_b(b + kRowBytes, kPitchB);
      multiply_parts<Multiply, What, Low, Wide>(rows, 0);
      multiply_other_parts<Multiply, What, Low, Wide>(rows, b);
    };
    const std::int64_t whole = a.end != nullptr ? chunks - 1 : chunks;
    for (std::int64_t chunk = 1; chunk < whole; ++chunk) {
      a.data += a.step;
      next(a);
    }
    if (a.end != nullptr) next({a.end, kRowBytes, 0});
  }

  // B's part that is in registers by A's, whose upper rows are.
  template <class Multiply, Staying What, bool Low, bool Wide>
  static void multiply_parts(const Strip& a, std::int64_t part) {
    using A = OperandRegisters<What != Staying::b>;
    if constexpr (Low) A::load_lower_a(a.data + part + kTileRows * a.pitch, a.pitch);
    Multiply::upper_left();
    if constexpr (Wide) Multiply::upper_right();
    if constexpr (Low) {
      Multiply::lower_left();
      if constexpr (Wide) Multiply::lower_right();
    }
  }

  // What is left of a chunk when its first parts are multiplied: each time one operand's part
  // changes.
  template <class Multiply, Staying What, bool Low, bool Wide>
  static void multiply_other_parts(const Strip& a, const unsigned char* b) {
    if constexpr (Multiply::kParts == 2) {
      const auto by_a = [&](std::int64_t part) __attribute__((always_inline)) {
        using A = OperandRegisters<What != Staying::b>;
        A::load_upper_a(a.data + part, a.pitch);
        multiply_parts<Multiply, What, Low, Wide>(a, part);
      };
      const auto by_b = [&](std::int64_t part) __attribute__((always_inline)) {
        using B = OperandRegisters<What != Staying::a>;
        B::load_left_b(b + part, kPitchB);
        Multiply::upper_left();
        if constexpr (Low) Multiply::lower_left();
        if constexpr (Wide) {
          B::load_right_b(b + part + kRowBytes, kPitchB);
          Multiply::upper_right();
          if constexpr (Low) Multiply::lower_right();
        }
      };
      if constexpr (Multiply::kTurned) {
        by_b(kChunkBytesB);
        by_a(kChunkBytesA);
        by_b(0);
      } else {
        by_a(kChunkBytesA);
        by_b(kChunkBytesB);
        by_a(0);
      }
    }
  }

  RowsToFetch to_fetch_;
  int depth_bytes_ = kRowBytes;
  int rows_ = 0;
  int cols_ = 0;
  bool is_low_ = false;
  bool is_wide_ = false;
  SumPlace to_;  // of the sums in registers
};

}  // namespace
}  // namespace tessera::cpu
