// f64 by AMX's tile registers: by residues modulo fifteen numbers (residues_of_f64.hpp), of up to
// 256×256 of C at a time (tile_residues.hpp), from packed strips of A and panels of B
// (pack_f64_residues.hpp). What residues do not hold is multiplied by vectors (whole_f64.hpp).
#include <immintrin.h>

#include "cpu/finish.hpp"
#include "cpu/kernels.hpp"
#include "cpu/pack_f64_residues.hpp"
#include "cpu/tile_residues.hpp"
#include "cpu/tile_sums.hpp"
#include "cpu/whole_f64.hpp"

namespace tessera::cpu {
namespace {

struct CodeF64ByResidues {
  // Of C at a time, so that a plane of A's strips and one of B's panels, and those that come next,
  // are in the second-level cache (256 KB each with 1024 of k), while each is used eight times.
  static constexpr int kBlocksTogether = 8;
  static constexpr int kSide = kBlocksTogether * kBlock;
  static constexpr std::int64_t kMostPlaneOfRemainders = kSide * kSide + kBytesBetweenPlanes;
  static constexpr std::int64_t kRoomBytes = kModuli * kMostPlaneOfRemainders;
  static_assert(kSide == kColumnsPacked);
  // What is not held (whole_f64.hpp).
  static constexpr std::int64_t kMostFilled = kSide + kMostTileOfWhole;
  static_assert(2 * kMostFilled * kDepthOfWhole * 8 <= kRoomBytes);
  static_assert(2 * kMostFilled * kDepthBesideSums * 8 + kSide * kSide * 8 <= kRoomBytes);

  // The strips and panels of a block of C.
  struct Blocks {
    std::int64_t strips = 0;
    std::int64_t panels = 0;
    std::int64_t chunks = 0;
    std::int64_t plane = 0;
    std::int64_t plane_of_remainders = 0;
    const BehindResidues* a[kBlocksTogether] = {};
    const BehindResidues* b[kBlocksTogether] = {};

    explicit Blocks(const BlockTask& task)
        : strips((task.rows + kBlock - 1) / kBlock),
          panels((task.cols + kBlock - 1) / kBlock),
          chunks(PanelsOfResidues::chunks_of(task.depth)),
          plane(plane_bytes(chunks)),
          plane_of_remainders(strips * panels * kSumsOfBlock + kBytesBetweenPlanes) {
      for (std::int64_t i = 0; i < strips; ++i) a[i] = &PanelsOfResidues::behind(task.a, i, plane);
      for (std::int64_t i = 0; i < panels; ++i) b[i] = &PanelsOfResidues::behind(task.b, i, plane);
    }

    bool are_held(std::int64_t strip, std::int64_t panel) const {
      return a[strip]->are_held != 0 && b[panel]->are_held != 0;
    }
    std::int64_t remainders_at(std::int64_t strip, std::int64_t panel) const {
      return (strip * panels + panel) * kSumsOfBlock;
    }
    // Of the plane behind `from`, the part that this of so many blocks fetches.
    LinesAhead ahead(const unsigned char* from, int modulus, std::int64_t part,
                     std::int64_t parts) const {
      if (modulus + 1 == kModuli) return {};
      const std::int64_t lines = (kChunkBytesA / kRowBytes + parts - 1) / parts;
      return {from + plane + part * lines * chunks * kRowBytes, static_cast<int>(lines)};
    }
  };

  static void multiply_residues(const BlockTask& task, const Blocks& blocks) {
    ResidueRegisters registers;
    auto* remainders = static_cast<unsigned char*>(task.passing_panel);
    for (int i = 0; i < kModuli; ++i, remainders += blocks.plane_of_remainders) {
      for (std::int64_t panel = 0; panel < blocks.panels; ++panel) {
        for (std::int64_t strip = 0; strip < blocks.strips; ++strip) {
          if (!blocks.are_held(strip, panel)) continue;
          PlanesOfBlock planes;
          planes.a = panel_of(task.a, strip) + i * blocks.plane;
          planes.b = panel_of(task.b, panel) + i * blocks.plane;
          planes.chunks = blocks.chunks;
          planes.ahead_a = blocks.ahead(planes.a, i, panel, blocks.panels);
          planes.ahead_b = blocks.ahead(planes.b, i, strip, blocks.strips);
          registers.multiply(planes, i, remainders + blocks.remainders_at(strip, panel));
        }
      }
    }
    registers.flush();
  }

  // Where sums go to the caller's memory, or are kept for `finish`.
  static void finish_block_of(const BlockTask& task, std::int64_t row, std::int64_t col,
                              double* values) {
    const Part part{task.sum_stride, some_of(task.rows - row, kBlock),
                    some_of(task.cols - col, kBlock)};
    double* sum = nullptr;
    if (task.sum != nullptr) {
      sum = static_cast<double*>(task.sum) + row * task.sum_stride + col;
      scale_into(task, values, kBlock, sum, part);
    }
    if (task.finish == nullptr) return;
    finish_block<double>(sub_block(*task.finish, row, col), sum != nullptr ? sum : values,
                         sum != nullptr ? task.sum_stride : kBlock, part.rows, part.cols);
  }

  // Of a run of strips, or panels: all rows, or columns, of several panels one after another.
  static F64Source joined(const BehindResidues* const* behind, std::int64_t first,
                          std::int64_t count) {
    F64Source source = behind[first]->source;
    for (std::int64_t i = first + 1; i < first + count; ++i)
      source.along += behind[i]->source.along;
    return source;
  }
  // From the first on, so many that are held, or are not, as it is.
  static std::int64_t run_of(const BehindResidues* const* behind, std::int64_t first,
                             std::int64_t end) {
    std::int64_t next = first + 1;
    while (next < end && behind[next]->are_held == behind[first]->are_held) ++next;
    return next - first;
  }

  // All columns of strips that are not held, and of others those of panels that are not.
  static void multiply_others(const BlockTask& task, const Blocks& blocks) {
    static const KernelCode& vectors = code_for_whole(*find_code("cpu_avx512_f64"));
    auto* const room = static_cast<unsigned char*>(task.passing_panel);
    const auto multiply_columns = [&](const F64Source& a, std::int64_t strip, std::int64_t first,
                                      std::int64_t count) {
      WholePart part{a, joined(blocks.b, first, count), strip * kBlock, first * kBlock};
      // Of a last panel the task may have a part.
      part.a.along = some_of(task.rows - part.row, static_cast<int>(part.a.along));
      part.b.along = some_of(task.cols - part.col, static_cast<int>(part.b.along));
      multiply_whole(vectors, task, part, room);
    };
    for (std::int64_t strip = 0; strip < blocks.strips;) {
      const std::int64_t strips = run_of(blocks.a, strip, blocks.strips);
      const F64Source a = joined(blocks.a, strip, strips);
      if (blocks.a[strip]->are_held == 0) {
        multiply_columns(a, strip, 0, blocks.panels);
      } else {
        for (std::int64_t panel = 0; panel < blocks.panels;) {
          const std::int64_t panels = run_of(blocks.b, panel, blocks.panels);
          if (blocks.b[panel]->are_held == 0) multiply_columns(a, strip, panel, panels);
          panel += panels;
        }
      }
      strip += strips;
    }
  }

  static void multiply_block(const BlockTask& task) {
    const Blocks blocks(task);
    multiply_residues(task, blocks);
    const auto* const remainders = static_cast<const unsigned char*>(task.passing_panel);
    alignas(64) double values[kSumsOfBlock];
    for (std::int64_t strip = 0; strip < blocks.strips; ++strip) {
      for (std::int64_t panel = 0; panel < blocks.panels; ++panel) {
        if (!blocks.are_held(strip, panel)) continue;
        fetch_sums(task, strip * kBlock, panel * kBlock);
        put_together(remainders + blocks.remainders_at(strip, panel), blocks.plane_of_remainders,
                     blocks.a[strip]->from_integers, blocks.b[panel]->from_integers, values);
        finish_block_of(task, strip * kBlock, panel * kBlock, values);
      }
    }
    multiply_others(task, blocks);
  }

  // A block's rows of C, which collide where C is large.
  static void fetch_sums(const BlockTask& task, std::int64_t row, std::int64_t col) {
    if (task.sum == nullptr) return;
    const double* from = static_cast<const double*>(task.sum) + row * task.sum_stride + col;
    const int rows = some_of(task.rows - row, kBlock);
    const int cols = some_of(task.cols - col, kBlock);
    for (int i = 0; i < rows; ++i, from += task.sum_stride) {
      for (int at = 0; at < cols; at += kLanesOfF64) __builtin_prefetch(from + at, 1, 2);
    }
  }

  static void multiply(const BlockTask& task) {
    if (task.depth == 0) return multiply_nothing(task);
    for (std::int64_t row = 0; row < task.rows; row += kSide) {
      for (std::int64_t col = 0; col < task.cols; col += kSide) {
        Finish finish;
        BlockTask block = sub_task<double>(task, row, col, some_of(task.rows - row, kSide),
                                           some_of(task.cols - col, kSide), finish);
        block.a.data = panel_of(task.a, row / kBlock);
        block.b.data = panel_of(task.b, col / kBlock);
        multiply_block(block);
      }
    }
  }

  static void multiply_nothing(const BlockTask& task) {
    for (std::int64_t row = 0; row < task.rows; row += kBlock) {
      for (std::int64_t col = 0; col < task.cols; col += kBlock) {
        alignas(64) double values[kSumsOfBlock] = {};
        finish_block_of(task, row, col, values);
      }
    }
  }

  static constexpr KernelCode make(std::string_view name) {
    KernelCode code;
    code.name = name;
    code.mr = kBlock;
    code.nr = kBlock;
    code.depth_step = kDepthOfChunk;
    code.packed_size_a = kModuli;
    code.packed_size_b = kModuli;
    code.panel_extra_a = PanelsOfResidues::kExtra;
    code.panel_extra_b = PanelsOfResidues::kExtra;
    code.refers_to_elements = true;
    code.packing_copies_rows = true;
    code.rows_together = kSide;
    code.cols_together = kSide;
    code.room_bytes = kRoomBytes;
    code.accumulator = ElementType::f64;
    code.pack_a = PanelsOfResidues::pack_a;
    code.pack_b = PanelsOfResidues::pack_b;
    code.multiply = multiply;
    code.add = add_sums<double>;
    code.finish = finish_block<double>;
    return code;
  }
};

constexpr KernelCode kCode[] = {CodeF64ByResidues::make("cpu_amx_f64")};

}  // namespace

std::span<const KernelCode> amx_f64_code() {
  return kCode;
}

}  // namespace tessera::cpu
