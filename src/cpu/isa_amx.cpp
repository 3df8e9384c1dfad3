// Microkernel for AMX: tile registers of 16 rows by 64 bytes, four sums of 16×16 at a time. Here A
// is packed in units of 64 bytes of k, one row of a tile register each; B as for VNNI, whose layout
// the tile instructions share.
//
// Subnormal bf16 inputs and sums count as zero, as with AVX512-BF16. Products of 8-bit integers are
// exact modulo 2^32 for either sign, so nothing is offset.
#include <immintrin.h>

#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512.hpp"

namespace tessera::cpu {
namespace {

constexpr int kTileRows = 16;
constexpr int kRowBytes = 64;
constexpr int kBlock = 2 * kTileRows;  // rows and columns of C in registers
constexpr std::int64_t kTileBytes = kTileRows * kRowBytes;

struct TileRow {
  unsigned char bytes[kRowBytes];
};

// Tile registers 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B; all are full size.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// The tile registers are numbered in the instruction, so each product is written out.
struct MultiplyBf16 {
  using Acc = float;
  static void step() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
};
struct MultiplyI8I8 {
  using Acc = std::int32_t;
  static void step() {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
};
struct MultiplyU8I8 {
  using Acc = std::int32_t;
  static void step() {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
};
struct MultiplyI8U8 {
  using Acc = std::int32_t;
  static void step() {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
};

// sums (32 × 32) ← panel of A times panel of B, over `chunks` of 64 bytes of k.
template <class Multiply>
void multiply_tiles_of(const unsigned char* a, const unsigned char* b, std::int64_t chunks,
                       typename Multiply::Acc* sums) {
  constexpr std::int64_t kChunkA = kBlock * kRowBytes;
  constexpr std::int64_t kChunkB = kTileRows * kBlock * 4;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk, a += kChunkA, b += kChunkB) {
    _tile_loadd(4, a, kRowBytes);
    _tile_loadd(6, b, kBlock * 4);
    _tile_loadd(7, b + kRowBytes, kBlock * 4);
    _tile_loadd(5, a + kTileBytes, kRowBytes);
    Multiply::step();
  }
  _tile_stored(0, sums, kBlock * 4);
  _tile_stored(1, sums + kTileRows, kBlock * 4);
  _tile_stored(2, sums + kTileRows * kBlock, kBlock * 4);
  _tile_stored(3, sums + kTileRows * kBlock + kTileRows, kBlock * 4);
}

// sum ← alpha·value + beta·sum
template <class Acc>
void scale_into(const BlockTask& task, const Acc* value, Acc* sum, std::int64_t rows,
                std::int64_t cols) {
  const Acc alpha = scalar_of<Acc>(task.alpha);
  const Acc beta = scalar_of<Acc>(task.beta);
  for (std::int64_t row = 0; row < rows; ++row, value += kBlock, sum += task.sum_stride) {
    if (task.beta != 0) {
      for (std::int64_t col = 0; col < cols; ++col) {
        const Acc scaled = multiply_add(alpha, value[col], Acc(0));
        sum[col] = multiply_add(beta, sum[col], scaled);
      }
    } else {
      for (std::int64_t col = 0; col < cols; ++col) {
        sum[col] = multiply_add(alpha, value[col], Acc(0));
      }
    }
  }
}

template <class Multiply, class UnitsA, class UnitsB>
struct CodeAmx {
  using Acc = typename Multiply::Acc;
  static constexpr int kDepth = kRowBytes / static_cast<int>(sizeof(typename UnitsA::Packed));

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

  static void multiply(const BlockTask& task) {
    alignas(64) Acc sums[kBlock * kBlock];
    const TileConfiguration configuration;
    _tile_loadconfig(&configuration);
    const std::int64_t chunks = padded(task.depth) / kDepth;
    const auto* b = static_cast<const unsigned char*>(task.b.data);
    for (std::int64_t col = 0; col < task.cols; col += kBlock, b += task.b.panel_bytes) {
      const std::int64_t cols = task.cols - col < kBlock ? task.cols - col : kBlock;
      const auto* a = static_cast<const unsigned char*>(task.a.data);
      for (std::int64_t row = 0; row < task.rows; row += kBlock, a += task.a.panel_bytes) {
        const std::int64_t rows = task.rows - row < kBlock ? task.rows - row : kBlock;
        multiply_tiles_of<Multiply>(a, b, chunks, sums);
        const Acc* finished = sums;
        std::int64_t stride = kBlock;
        if (task.sum != nullptr) {
          Acc* sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
          scale_into(task, sums, sum, rows, cols);
          finished = sum;
          stride = task.sum_stride;
        }
        if (task.finish != nullptr) {
          finish_block<Acc>(sub_block(*task.finish, row, col), finished, stride, rows, cols);
        }
      }
    }
    _tile_release();
  }

  static constexpr KernelCode make(std::string_view name, const KernelCode* turned = nullptr) {
    KernelCode code;
    code.name = name;
    code.mr = kBlock;
    code.nr = kBlock;
    code.depth_step = kDepth;
    code.packed_size_a = sizeof(typename UnitsA::Packed);
    code.packed_size_b = sizeof(typename UnitsB::Packed);
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
