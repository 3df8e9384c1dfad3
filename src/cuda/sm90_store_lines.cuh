// The way to C for everything that does not leave by TMA boxes: any type, stride and alignment of
// C, beta, bias and activation. sm90_epilogue.cuh has the other ways.
//
// Some columns of a warp's 16 rows at a time go through staging memory as floats, in lines along
// C's dense side, so that lanes read and write C along it: four elements at a time where all lines
// begin at multiples of four, else one by one. There are only eight warps to hide anything, so each
// step of a lane is a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/epilogue.cuh"
#include "cuda/ptx/anew.cuh"
#include "cuda/ptx/prefetch_line.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/sm90_epilogue.cuh"

namespace tessera::cuda {

// The staged lines: 16 rows of kColumns, or as many columns of 16. Permuted, so that neither sums
// from registers nor what lanes take along lines meet in a bank.
template <int kColumns>
struct StagedLines {
  static constexpr int kSums = kColumns / 2;  // of a thread

  float* words = nullptr;
  bool along_rows = true;

  __device__ int index(int line, int inner) const {
    return along_rows ? line * kColumns + (inner ^ turn_of_row(line))
                      : line * kWarpRows + (inner ^ turn_of_column(line));
  }
  // The column of C that a line along columns holds.
  __device__ static int column_of(int line) {
    return (line & 1) << 1 | (line >> 1 & 1) | line >> 2 << 2;
  }
  __device__ static constexpr int turn_of_row(int row) { return row * 8 & (kColumns - 8); }
  __device__ static constexpr int turn_of_column(int line) { return line << 1 & 8; }

  // The first sums of a lane.
  __device__ void put(const float* sums, int lane) const {
    const int row = lane / 4;
    if (along_rows) {
      const int first = index(row, lane % 4 * 2);
#pragma unroll
      for (int i = 0; i < kColumns / 8; ++i) {
        float* const to = words + (first ^ i * 8);
        *reinterpret_cast<float2*>(to) = make_float2(sums[4 * i], sums[4 * i + 1]);
        *reinterpret_cast<float2*>(to + 8 * kColumns) =
            make_float2(sums[4 * i + 2], sums[4 * i + 3]);
      }
    } else {
      // The line of column 2·(lane mod 4); the next column's is two further.
      const int line = (lane & 1) | (lane >> 1 & 1) << 2;
      float* const top = words + index(line, row);
      float* const bottom = words + index(line, row + 8);
#pragma unroll
      for (int i = 0; i < kColumns / 8; ++i) {
        const int next = i * 8 * kWarpRows;
        top[next] = sums[4 * i];
        top[next + 2 * kWarpRows] = sums[4 * i + 1];
        bottom[next] = sums[4 * i + 2];
        bottom[next + 2 * kWarpRows] = sums[4 * i + 3];
      }
    }
  }
};

// How a lane walks the staged lines, kWide elements of one at a step.
template <int kWide, int kColumns>
struct LaneWalk {
  // One element at a time, half a row of 64 in a pass.
  static constexpr int kPasses = kWide == 1 && kColumns == 64 ? 2 : 1;
  static constexpr int kSteps = kWarpRows * kColumns / (32 * kWide) / kPasses;
  static constexpr int kRowsOfStep = kWide == 4 ? 128 / kColumns : kColumns == 16 ? 2 : 1;

  bool along_rows;
  int first;      // index of the first step's elements
  int line = 0;   // of C, of the first step
  int inner = 0;  // in a line of C

  __device__ LaneWalk(const StagedLines<kColumns>& staged, int lane, int pass)
      : along_rows(staged.along_rows) {
    if (along_rows) {
      constexpr int kLanes = kColumns / kWide < 32 ? kColumns / kWide : 32;  // of a row
      line = lane / kLanes;
      inner = lane % kLanes * kWide + pass * 32;
      first = staged.index(line, inner);
    } else {
      constexpr int kLanes = kWarpRows / kWide;
      const int staged_line = lane / kLanes + pass * 32;
      line = staged.column_of(staged_line);
      inner = lane % kLanes * kWide;
      first = staged.index(staged_line, inner);
    }
  }

  // Of a step that the compiler knows, a few instructions.
  __device__ int index(int step) const {
    constexpr int kColumnWords = 32 * kWide;
    const int turn = along_rows   ? StagedLines<kColumns>::turn_of_row(step * kRowsOfStep)
                     : kWide == 4 ? 0
                                  : StagedLines<kColumns>::turn_of_column(step * 2);
    return (first ^ turn) + step * (along_rows ? kRowsOfStep * kColumns : kColumnWords);
  }
  // Lines of C from the first step's to that step's.
  __device__ int lines_to(int step) const {
    const int columns = kWide == 4 ? step * 8 : (step & 1) + (step >> 1) * 4;
    return along_rows ? step * kRowsOfStep : columns;
  }
};

// kWide elements of C as they lie in memory.
template <class Bits, int kWide>
struct alignas(kWide * sizeof(Bits)) Memory {
  Bits bits[kWide];
};

template <int kWide>
__device__ inline Memory<float, kWide> to_floats(const Memory<float, kWide>& values, bool) {
  return values;
}
template <int kWide>
__device__ inline Memory<float, kWide> to_floats(const Memory<std::uint16_t, kWide>& values,
                                                 bool is_bf16) {
  Memory<float, kWide> all;
#pragma unroll
  for (int e = 0; e < kWide; ++e) {
    const std::uint16_t bits = values.bits[e];
    all.bits[e] = is_bf16 ? __uint_as_float(static_cast<unsigned>(bits) << 16)
                          : __half2float(__ushort_as_half(bits));
  }
  return all;
}

template <class T>
__device__ inline Memory<std::uint16_t, 4> packed(const Memory<float, 4>& v) {
  const uint2 bits = make_uint2(pack<T>(v.bits[0], v.bits[1]), pack<T>(v.bits[2], v.bits[3]));
  return reinterpret_cast<const Memory<std::uint16_t, 4>&>(bits);
}
template <class Bits, int kWide>
__device__ inline Memory<Bits, kWide> to_memory(const Memory<float, kWide>& v, bool is_bf16) {
  if constexpr (std::is_same_v<Bits, float>) {
    return v;
  } else if constexpr (kWide == 4) {
    return is_bf16 ? packed<__nv_bfloat16>(v) : packed<__half>(v);
  } else {
    return {is_bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(v.bits[0]))
                    : __half_as_ushort(__float2half_rn(v.bits[0]))};
  }
}

// A part of C, of at most 16 rows, that begins at some row and column.
struct PartOfC {
  std::byte* data = nullptr;
  std::int64_t line_bytes = 0;  // from line to line
  int lines = 0;
  int length = 0;  // of lines
  const std::byte* bias = nullptr;
  std::int64_t bias_bytes = 0;  // from value to value
  bool bias_along = false;      // lines
};

// C = activation(alpha·staged + bias + beta·C), for C of elements side by side, kLoads steps of
// which are on their way from memory at a time.
template <class Bits, int kWide, int kLoads, int kColumns>
__device__ inline void finish_lines(const StagedLines<kColumns>& staged, const PartOfC& c,
                                    const EpilogueArguments& epilogue, int lane) {
  using Walk = LaneWalk<kWide, kColumns>;
  using Elements = Memory<Bits, kWide>;
  using Floats = Memory<float, kWide>;
  constexpr int kBatch = Walk::kSteps < kLoads ? Walk::kSteps : kLoads;
  const bool is_bf16 = epilogue.c_type == ElementType::bf16;
  const bool reads_c = epilogue.beta != 0;
  const auto beta = static_cast<float>(epilogue.beta);
  const bool has_bias = epilogue.bias != BiasAxis::none;
  // Where each line has a value of its own, that is added first.
  const bool bias_of_lines = has_bias && !c.bias_along;
  const float alpha = bias_of_lines ? 1.F : static_cast<float>(epilogue.alpha);
  const Activation activation = epilogue.activation;
  const bool stores = !is_heavy(activation);

#pragma unroll 1
  for (int pass = 0; pass < Walk::kPasses; ++pass) {
    const Walk walk(staged, lane, pass);
    const int lines = walk.inner < c.length ? c.lines - walk.line : 0;  // from the first step's on
    const auto is_inside = [&](int step) { return walk.lines_to(step) < lines; };
    std::byte* const first =
        c.data + walk.line * c.line_bytes + walk.inner * static_cast<int>(sizeof(Bits));
    const std::int64_t to_odd = walk.lines_to(1) * c.line_bytes;
    const std::int64_t to_even = (walk.lines_to(2) - walk.lines_to(1)) * c.line_bytes;
    const auto piece = [&](int step) -> Floats& {
      return *reinterpret_cast<Floats*>(staged.words + walk.index(step));
    };
    const auto bias_at = [&](int at) {
      return load_element<float>(c.bias + at * c.bias_bytes, 0, epilogue.bias_type);
    };
    Floats along;
#pragma unroll
    for (float& value : along.bits) value = -0.F;
    if (has_bias && c.bias_along) {
#pragma unroll
      for (int e = 0; e < kWide; ++e) {
        if (lines > 0) along.bits[e] = bias_at(walk.inner + e);
      }
    } else if (bias_of_lines) {
#pragma unroll 1
      for (int step = 0; step < Walk::kSteps; ++step) {
        const float bias = is_inside(step) ? bias_at(walk.line + walk.lines_to(step)) : 0;
        Floats v = piece(step);
#pragma unroll
        for (int e = 0; e < kWide; ++e) {
          v.bits[e] = __fmaf_rn(static_cast<float>(epilogue.alpha), v.bits[e], bias);
        }
        piece(step) = v;
      }
    }

    std::byte* from = first;
    std::byte* to = first;
    const auto next = [&](std::byte*& place, int step) {
      Elements* const here = reinterpret_cast<Elements*>(place);
      place += step % 2 == 0 ? to_odd : to_even;
      return here;
    };
#pragma unroll
    for (int begin = 0; begin < Walk::kSteps; begin += kBatch) {
      Elements before[kBatch] = {};
      if (reads_c) {
#pragma unroll
        for (int b = 0; b < kBatch; ++b) {
          const Elements* const here = next(from, begin + b);
          if (is_inside(begin + b)) before[b] = *here;
        }
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const int step = begin + b;
        Floats v = piece(step);
#pragma unroll
        for (int e = 0; e < kWide; ++e) v.bits[e] = __fmaf_rn(alpha, v.bits[e], along.bits[e]);
        if (reads_c) {
          const Floats old = to_floats(before[b], is_bf16);
#pragma unroll
          for (int e = 0; e < kWide; ++e) {
            v.bits[e] = __fmaf_rn(beta, old.bits[e], v.bits[e]);
          }
        }
        if (activation == Activation::relu) {
#pragma unroll
          for (int e = 0; e < kWide; ++e) v.bits[e] = activate(Activation::relu, v.bits[e]);
        }
        Elements* const here = next(to, step);
        if (!stores) {
          piece(step) = v;
        } else if (is_inside(step)) {
          *here = to_memory<Bits>(v, is_bf16);
        }
      }
    }
    if (stores) continue;
    // One copy of their code.
    to = first;
#pragma unroll 1
    for (int step = 0; step < Walk::kSteps; ++step) {
      Floats v = piece(step);
#pragma unroll
      for (int e = 0; e < kWide; ++e) v.bits[e] = activate(activation, v.bits[e]);
      Elements* const here = next(to, step);
      if (is_inside(step)) *here = to_memory<Bits>(v, is_bf16);
    }
  }
}

// The same for any type and strides of C.
template <int kColumns>
__device__ inline void finish_elements(const StagedLines<kColumns>& staged,
                                       const EpilogueArguments& epilogue,
                                       const GroupOperands& group, std::int64_t row,
                                       std::int64_t col, std::int64_t end, int lane) {
#pragma unroll 1
  for (int i = lane; i < kWarpRows * kColumns; i += 32) {
    const int line = i / (staged.along_rows ? kColumns : kWarpRows);
    const int inner = i % (staged.along_rows ? kColumns : kWarpRows);
    const std::int64_t r = row + (staged.along_rows ? line : inner);
    const std::int64_t c = col + (staged.along_rows ? inner : staged.column_of(line));
    if (r >= group.m || c >= end) continue;
    const std::int64_t at = r * group.c_row_stride + c * group.c_col_stride;
    float value =
        __fmaf_rn(static_cast<float>(epilogue.alpha), staged.words[staged.index(line, inner)],
                  bias_at<float>(epilogue, group, r, c));
    if (epilogue.beta != 0) {
      value = __fmaf_rn(static_cast<float>(epilogue.beta),
                        load_element<float>(group.c, at, epilogue.c_type), value);
    }
    store_element(group.c, at, epilogue.c_type, activate(epilogue.activation, value));
  }
}

// The part of C from a row and a column on, up to column `end`.
__device__ inline PartOfC part_of_c(const EpilogueArguments& epilogue, const GroupOperands& group,
                                    std::int64_t row, std::int64_t col, std::int64_t end) {
  const bool along_rows = group.c_col_stride == 1;
  const int size = size_of(epilogue.c_type);
  const auto rows = static_cast<int>(min(group.m - row, std::int64_t{kWarpRows}));
  const auto columns = static_cast<int>(min(end - col, std::int64_t{256}));
  const bool of_rows = epilogue.bias == BiasAxis::row;
  PartOfC c;
  c.data = static_cast<std::byte*>(group.c) +
           (row * group.c_row_stride + col * group.c_col_stride) * size;
  c.line_bytes = (along_rows ? group.c_row_stride : group.c_col_stride) * size;
  c.lines = along_rows ? rows : columns;
  c.length = along_rows ? columns : rows;
  c.bias_bytes = group.bias_stride * size_of(epilogue.bias_type);
  c.bias = static_cast<const std::byte*>(group.bias) + (of_rows ? row : col) * c.bias_bytes;
  c.bias_along = of_rows != along_rows;
  return c;
}

// A warp's rows of a tile, in strips one above another, up to column `end` of C.
template <Sm90Config kConfig>
__device__ void store_by_lines(float (&sums)[kConfig.sums_per_thread()],
                               const EpilogueArguments& epilogue, const GroupOperands& group,
                               const WarpTile& tile, std::int64_t end) {
  constexpr int kColumns = kConfig.block.cols;
  constexpr int kStrips = kConfig.strips();
  constexpr int kMost = kConfig.staging_bytes() / (kWarpRows * static_cast<int>(sizeof(float)));
  constexpr int kChunk = kColumns % 64 == 0 && kMost >= 64   ? 64
                         : kColumns % 32 == 0 && kMost >= 32 ? 32
                                                             : 16;
  // As registers allow.
  constexpr int kLoads = kConfig.is_grouped || kStrips > 1 ? 2 : 8;
  using Staged = StagedLines<kChunk>;
  const bool along_rows = group.c_col_stride == 1;
  if (tile.row >= group.m) return;
  const int size = size_of(epilogue.c_type);
  const bool is_f32 = epilogue.c_type == ElementType::f32;
  const bool is_dense = (along_rows || group.c_row_stride == 1) && (is_f32 || size == 2);
  const std::int64_t line_stride = along_rows ? group.c_row_stride : group.c_col_stride;
  const std::int64_t length = along_rows ? end : group.m;
  const bool is_wide = ((line_stride | length) & 3) == 0 &&
                       (reinterpret_cast<std::uintptr_t>(group.c) & (4 * size - 1)) == 0;

  const auto finish_chunk = [&](std::int64_t row, std::int64_t col) {
    // Asked for anew, so that no addresses are kept across chunks: the sums need the registers.
    const int lane = ptx::thread_in_block() % 32;
    const bool walks_rows = kConfig.is_grouped ? ptx::anew(along_rows) != 0 : along_rows;
    const Staged staged{reinterpret_cast<float*>(tile.staging), walks_rows};
    __syncwarp();
    staged.put(sums, lane);
    __syncwarp();
    if (is_dense) {
      const PartOfC c = part_of_c(epilogue, group, row, col, end);
      if (is_f32 && is_wide) {
        finish_lines<float, 4, kLoads>(staged, c, epilogue, lane);
      } else if (is_f32) {
        finish_lines<float, 1, kLoads>(staged, c, epilogue, lane);
      } else if (is_wide) {
        finish_lines<std::uint16_t, 4, kLoads>(staged, c, epilogue, lane);
      } else {
        finish_lines<std::uint16_t, 1, kLoads>(staged, c, epilogue, lane);
      }
    } else {
      finish_elements(staged, epilogue, group, row, col, end, lane);
    }
  };
  // The next columns' sums move to the front, so that one copy of a loop's code serves all.
  const auto next_sums = [&] {
#pragma unroll
    for (int i = 0; i + Staged::kSums < kConfig.sums_per_thread(); ++i) {
      sums[i] = sums[i + Staged::kSums];
    }
  };
  if constexpr (kStrips == 1) {
#pragma unroll 1
    for (std::int64_t col = tile.col; col < tile.col + kColumns; col += kChunk) {
      if (col >= end) break;
      finish_chunk(tile.row, col);
      next_sums();
    }
  } else {
    constexpr int kChunks = kColumns / kChunk;  // of a strip
#pragma unroll 1
    for (int chunk = 0; chunk < kStrips * kChunks; ++chunk) {
      const std::int64_t row = tile.row + chunk / kChunks * kWarpgroupRows;
      const std::int64_t col = tile.col + chunk % kChunks * kChunk;
      if (row >= group.m) return;
      if (col < end) finish_chunk(row, col);
      next_sums();
    }
  }
}

// What of C the calling warp will read of a tile, on its way to the L2 cache.
template <Sm90Config kConfig>
__device__ void prefetch_c(const EpilogueArguments& epilogue, const GroupOperands& group,
                           std::int64_t row, std::int64_t col, int lane) {
  constexpr int kLine = 128;
  constexpr int kColumns = kConfig.block.cols;
  const int size = size_of(epilogue.c_type);
  const auto* const data = static_cast<const std::byte*>(group.c) +
                           (row * group.c_row_stride + col * group.c_col_stride) * size;
  if (group.c_col_stride == 1) {
    if (row + lane / 2 >= group.m) return;
    const auto bytes = static_cast<int>(min(group.n - col, std::int64_t{kColumns})) * size;
    for (int at = lane % 2 * kLine; at < bytes; at += 2 * kLine) {
      ptx::prefetch_line(data + lane / 2 * group.c_row_stride * size + at);
    }
  } else if (row < group.m) {
    for (int column = lane; column < kColumns && col + column < group.n; column += 32) {
      ptx::prefetch_line(data + column * group.c_col_stride * size);
    }
  }
}

}  // namespace tessera::cuda
