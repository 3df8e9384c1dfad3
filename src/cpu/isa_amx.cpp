// Microkernel for AMX: tile registers of 16 rows by 64 bytes, of which four hold sums of 32×32, two
// rows of A and two columns of B. A's rows are read where they lie, or packed in units of 64 bytes
// of k, one row of a tile register each; B is packed as for VNNI, whose layout the tile
// instructions share.
//
// Subnormal bf16 inputs and sums count as zero, as with AVX512-BF16. Products of 8-bit integers are
// exact modulo 2^32 for either sign, so nothing is offset.
#include <immintrin.h>

#include <algorithm>

#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512.hpp"

namespace tessera::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kRowBytes = 64;
constexpr int kTileCols = kRowBytes / 4;  // of sums, and groups of k of B
static_assert(kTileCols == kTileRows);
constexpr int kBlock = 2 * kTileRows;  // rows and columns of C in registers

struct TileRow {
  unsigned char bytes[kRowBytes];
};

// How large the tile registers are: 0 to 3 hold sums (upper left, upper right, lower left, lower
// right), 4 and 5 the upper and lower rows of A, 6 and 7 the left and right columns of B. Those
// that a narrow block does not need keep their full size.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  TileConfiguration(int block_rows, int block_cols) {
    const auto part = [](int size, int half) {
      return size > half * kTileRows ? std::min(kTileRows, size - half * kTileRows) : kTileRows;
    };
    for (int half = 0; half < 2; ++half) {
      const auto tile_rows = static_cast<std::uint8_t>(part(block_rows, half));
      const auto bytes = static_cast<std::uint16_t>(4 * part(block_cols, half));
      rows[2 * half] = rows[2 * half + 1] = rows[4 + half] = tile_rows;
      row_bytes[half] = row_bytes[2 + half] = row_bytes[6 + half] = bytes;
      row_bytes[4 + half] = kRowBytes;
      rows[6 + half] = kTileRows;
    }
  }
};

// Owns the tile registers while blocks are multiplied.
class Tiles {
 public:
  Tiles() = default;
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { _tile_release(); }

  void fit(int rows, int cols) {
    if (rows == rows_ && cols == cols_) return;
    rows_ = rows;
    cols_ = cols;
    const TileConfiguration configuration(rows, cols);
    _tile_loadconfig(&configuration);
  }

 private:
  int rows_ = 0;
  int cols_ = 0;
};

// The tile registers are numbered in the instruction, so each product is written out.
struct MultiplyBf16 {
  using Acc = float;
  static void upper() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
  static void lower() {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};
struct MultiplyI8I8 {
  using Acc = std::int32_t;
  static void upper() {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
  }
  static void lower() {
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
};
struct MultiplyU8I8 {
  using Acc = std::int32_t;
  static void upper() {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
  }
  static void lower() {
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
};
struct MultiplyI8U8 {
  using Acc = std::int32_t;
  static void upper() {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
  }
  static void lower() {
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
};

// Up to 32 rows of A: of a packed panel, or where they lie. In bytes.
struct Strip {
  const unsigned char* data = nullptr;
  std::int64_t pitch = 0;  // from row to row
  std::int64_t step = 0;   // along k, for 64 bytes of each row
};

// The sums in the tile registers ← those plus strip times panel of B, over `chunks` of 64 bytes of
// k. `Halves`: 1 where the strip has 16 rows at most.
template <class Multiply, int Halves>
void multiply_strip(Strip a, const unsigned char* b, std::int64_t chunks) {
  constexpr std::int64_t kChunkB = kTileCols * kBlock * 4;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk, a.data += a.step, b += kChunkB) {
    _tile_loadd(6, b, kBlock * 4);
    _tile_loadd(4, a.data, a.pitch);
    _tile_loadd(7, b + kRowBytes, kBlock * 4);
    Multiply::upper();
    if constexpr (Halves == 2) {
      _tile_loadd(5, a.data + kTileRows * a.pitch, a.pitch);
      Multiply::lower();
    }
  }
}

// A block of C of up to 32×32, in registers and in memory. Its registers are as large as it is
// (Tiles::fit).
template <class Acc>
struct SumBlock {
  Acc* at = nullptr;
  std::int64_t stride = 0;
  int rows = 0;
  int cols = 0;

  void zero() const {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  void load() const {
    const std::int64_t bytes = stride * 4;
    _tile_loadd(0, at, bytes);
    if (cols > kTileCols) _tile_loadd(1, at + kTileCols, bytes);
    if (rows <= kTileRows) return;
    _tile_loadd(2, at + kTileRows * stride, bytes);
    if (cols > kTileCols) _tile_loadd(3, at + kTileRows * stride + kTileCols, bytes);
  }
  void store() const {
    const std::int64_t bytes = stride * 4;
    _tile_stored(0, at, bytes);
    if (cols > kTileCols) _tile_stored(1, at + kTileCols, bytes);
    if (rows <= kTileRows) return;
    _tile_stored(2, at + kTileRows * stride, bytes);
    if (cols > kTileCols) _tile_stored(3, at + kTileRows * stride + kTileCols, bytes);
  }
};

// sum ← alpha·value + beta·sum
template <class Acc>
void scale_into(const BlockTask& task, const SumBlock<Acc>& value, const SumBlock<Acc>& sum) {
  const Acc alpha = scalar_of<Acc>(task.alpha);
  const Acc beta = scalar_of<Acc>(task.beta);
  for (int row = 0; row < sum.rows; ++row) {
    const Acc* from = value.at + row * value.stride;
    Acc* to = sum.at + row * sum.stride;
    for (int col = 0; col < sum.cols; ++col) {
      const Acc scaled = multiply_add(alpha, from[col], Acc(0));
      to[col] = task.beta != 0 ? multiply_add(beta, to[col], scaled) : scaled;
    }
  }
}

template <class Multiply, class UnitsA, class UnitsB>
struct CodeAmx {
  using Acc = typename Multiply::Acc;
  static constexpr int kElement = static_cast<int>(sizeof(typename UnitsA::Packed));
  static constexpr int kDepth = kRowBytes / kElement;

  static std::int64_t padded(std::int64_t depth) { return (depth + kDepth - 1) / kDepth * kDepth; }
  static std::int64_t panel_bytes(std::int64_t depth) {
    return padded(depth) / kDepth * kBlock * kRowBytes;
  }

  static void pack_a(const PackSource& source, void* panels) {
    Packer<UnitsA, kBlock, TransposeRows>::pack(source, padded(source.depth), panels,
                                                panel_bytes(source.depth));
  }
  static void pack_b(const PackSource& source, void* panels) {
    Packer<UnitsB, kBlock, TransposeRows>::pack(source, padded(source.depth), panels,
                                                panel_bytes(source.depth));
  }

  static Strip strip_of(const BlockOperand& a, std::int64_t row) {
    const auto* data = static_cast<const unsigned char*>(a.data);
    if (!a.in_place) return {data + row / kBlock * a.panel_bytes, kRowBytes, kBlock * kRowBytes};
    const std::int64_t pitch = a.along_stride * kElement;
    return {data + row * pitch, pitch, kRowBytes};
  }

  // sums ← strip of A times panel of B, plus those sums where it `goes_on`.
  static void multiply_block(const BlockTask& task, std::int64_t row, const unsigned char* b,
                             const SumBlock<Acc>& sums, bool goes_on, Tiles& tiles) {
    tiles.fit(sums.rows, sums.cols);
    if (goes_on) {
      sums.load();
    } else {
      sums.zero();
    }
    const Strip a = strip_of(task.a, row);
    const std::int64_t chunks = padded(task.depth) / kDepth;
    if (sums.rows > kTileRows) {
      multiply_strip<Multiply, 2>(a, b, chunks);
    } else {
      multiply_strip<Multiply, 1>(a, b, chunks);
    }
    sums.store();
  }

  static void multiply(const BlockTask& task) {
    alignas(64) Acc buffer[kBlock * kBlock];
    const bool has_sum = task.sum != nullptr;
    // Unscaled sums go from memory to the tile registers and back, scaled ones by way of the
    // buffer.
    const bool is_plain = has_sum && task.alpha == 1 && (task.beta == 0 || task.beta == 1);
    const bool goes_on = is_plain && task.beta == 1;
    const auto* b = static_cast<const unsigned char*>(task.b.data);
    Tiles tiles;
    for (std::int64_t col = 0; col < task.cols; col += kBlock, b += task.b.panel_bytes) {
      for (std::int64_t row = 0; row < task.rows; row += kBlock) {
        const int rows = static_cast<int>(std::min<std::int64_t>(kBlock, task.rows - row));
        const int cols = static_cast<int>(std::min<std::int64_t>(kBlock, task.cols - col));
        const SumBlock<Acc> buffered{buffer, kBlock, rows, cols};
        SumBlock<Acc> sum = buffered;
        if (has_sum) {
          sum.at = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
          sum.stride = task.sum_stride;
        }
        multiply_block(task, row, b, is_plain ? sum : buffered, goes_on, tiles);
        if (has_sum && !is_plain) scale_into(task, buffered, sum);
        if (task.finish != nullptr) {
          finish_block<Acc>(sub_block(*task.finish, row, col), sum.at, sum.stride, rows, cols);
        }
      }
    }
  }

  static constexpr KernelCode make(std::string_view name, const KernelCode* turned = nullptr) {
    KernelCode code;
    code.name = name;
    code.mr = kBlock;
    code.nr = kBlock;
    code.depth_step = kDepth;
    code.packed_size_a = kElement;
    code.packed_size_b = sizeof(typename UnitsB::Packed);
    code.keeps_rows = true;
    code.accumulator = accumulator_type<Acc>();
    code.turned = turned;
    code.pack_a = pack_a;
    code.pack_b = pack_b;
    code.multiply = multiply;
    code.add = add_sums<Acc>;
    code.finish = finish_block<Acc>;
    return code;
  }
};

template <class Element>
using RowUnits = PackUnits<Element, Element, kRowBytes / sizeof(Element), TileRow, Keep<Element>>;
template <class Element>
using ColumnUnits = PackUnits<Element, Element, 4 / sizeof(Element), std::uint32_t, Keep<Element>>;

using CodeBf16 = CodeAmx<MultiplyBf16, RowUnits<bf16>, ColumnUnits<bf16>>;
using CodeU8 = CodeAmx<MultiplyU8I8, RowUnits<std::uint8_t>, ColumnUnits<std::int8_t>>;
using CodeU8Turned = CodeAmx<MultiplyI8U8, RowUnits<std::int8_t>, ColumnUnits<std::uint8_t>>;
using CodeI8 = CodeAmx<MultiplyI8I8, RowUnits<std::int8_t>, ColumnUnits<std::int8_t>>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_amx_u8");
constexpr KernelCode kCode[] = {CodeBf16::make("cpu_amx_bf16"),
                                CodeU8::make("cpu_amx_u8", &kU8Turned), CodeI8::make("cpu_amx_i8")};

}  // namespace

std::span<const KernelCode> amx_code() {
  return kCode;
}

}  // namespace tessera::cpu
