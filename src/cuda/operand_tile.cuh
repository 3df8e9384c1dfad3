// An operand's tile in shared memory, and how ordinary loads fill it. The general kernel has one
// for A (extent: rows) and one for B (extent: columns); k is the depth of both.
#pragma once

#include <cstdint>

#include "cuda/ptx/ampere.cuh"

namespace tessera::cuda {

// Rows of the stored tile run along k where kAlongK, along the extent otherwise. Their 16-byte
// chunks are permuted within groups of eight rows, so that the eight rows that ldmatrix reads at
// once lie in different banks.
template <class T, int kExtent, int kDepth, bool kAlongK>
struct OperandTile {
  using Element = T;
  static constexpr bool kRowsAlongK = kAlongK;
  static constexpr int kRowLength = kAlongK ? kDepth : kExtent;
  static constexpr int kRows = kAlongK ? kExtent : kDepth;
  static constexpr int kRowBytes = kRowLength * static_cast<int>(sizeof(T));
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kChunks = kRowBytes / 16;
  static_assert(kRowBytes % 16 == 0 && (kChunks & (kChunks - 1)) == 0,
                "a row must be a power of two of 16-byte chunks, or the permutation leaves it");

  __device__ static int offset(int row, int byte) {
    constexpr int kPermuted = kChunks < 8 ? kChunks : 8;
    constexpr int kRowsPerBankCycle = 8 / kPermuted;
    const int chunk = (byte / 16) ^ ((row / kRowsPerBankCycle) % kPermuted);
    return row * kRowBytes + chunk * 16 + byte % 16;
  }
};

// Where a tile's elements come from. `rows` and `length` say how much of a stored tile exists in
// the matrix, from the tile's origin on; the rest is filled with zeros.
struct OperandSource {
  const void* origin = nullptr;
  std::int64_t row_stride = 0;    // between rows of the stored tile, in elements
  std::int64_t inner_stride = 1;  // between neighbours in a row
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

// Bytes that one copy may move: as wide as the addresses of all rows are aligned; one element where
// neighbours in a row are not neighbours in memory.
template <class T>
__device__ inline int copy_width(const void* origin, std::int64_t row_stride,
                                 std::int64_t inner_stride) {
  constexpr int kSize = sizeof(T);
  if (inner_stride != 1) return kSize;
  const std::uint64_t bits =
      reinterpret_cast<std::uint64_t>(origin) | static_cast<std::uint64_t>(row_stride * kSize) | 16;
  const int aligned = static_cast<int>(bits & (~bits + 1));
  return aligned < 4 ? kSize : aligned;
}

// An operand's tiles along k: where the next one comes from follows from the first.
struct OperandWalk {
  OperandSource at_k0;
  std::int64_t bytes_per_k = 0;  // from one k to the next
  int width = 0;                 // copy_width
};

// `outer` is the stride along the extent, `along_k` that along k; the tile starts at `first`.
template <class Tile>
__device__ inline OperandWalk walk_along_k(const void* data, std::int64_t outer,
                                           std::int64_t along_k, std::int64_t extent,
                                           std::int64_t depth, std::int64_t first) {
  using Element = typename Tile::Element;
  const Element* const origin = static_cast<const Element*>(data) + first * outer;
  const std::int64_t row_stride = Tile::kRowsAlongK ? outer : along_k;
  const std::int64_t inner_stride = Tile::kRowsAlongK ? along_k : outer;
  const OperandSource at_k0 =
      Tile::kRowsAlongK ? OperandSource{origin, row_stride, inner_stride, extent - first, depth}
                        : OperandSource{origin, row_stride, inner_stride, depth, extent - first};
  return {at_k0, along_k * static_cast<std::int64_t>(sizeof(Element)),
          copy_width<Element>(data, row_stride, inner_stride)};
}

template <class Tile, int kThreads>
struct TileCopy {
  using T = typename Tile::Element;
  static constexpr int kSize = sizeof(T);

  __device__ static int clamp_to(std::int64_t left, int limit) {
    return left <= 0 ? 0 : left < limit ? static_cast<int>(left) : limit;
  }

  // kBytes at a time along a row, in the background.
  template <int kBytes>
  __device__ static void vectors(std::uint32_t shared, const OperandSource& from, int thread) {
    constexpr int kPerRow = Tile::kRowBytes / kBytes;
    constexpr int kCopies = Tile::kRows * kPerRow;
    constexpr int kEach = (kCopies + kThreads - 1) / kThreads;
    const char* const origin = static_cast<const char*>(from.origin);
#pragma unroll 4
    for (int i = 0; i < kEach; ++i) {
      const int copy = i * kThreads + thread;
      if (kCopies % kThreads != 0 && copy >= kCopies) break;
      const int row = copy / kPerRow;
      const int byte = copy % kPerRow * kBytes;
      const int valid = row < from.rows ? clamp_to(from.length * kSize - byte, kBytes) : 0;
      // An address outside the matrix is never formed, though nothing would be read from it.
      const char* const global = valid > 0 ? origin + row * from.row_stride * kSize + byte : origin;
      ptx::copy_async<kBytes>(shared + Tile::offset(row, byte), global, valid);
    }
  }

  // 16 bytes at a time from rows that are aligned to less than 4 bytes: the words around them are
  // loaded and shifted into place. No word is touched that holds none of the row's bytes, and none
  // that ends after the row's last byte as a whole.
  __device__ static void shifted(char* tile, const OperandSource& from, int thread) {
    constexpr int kPerRow = Tile::kRowBytes / 16;
    constexpr int kCopies = Tile::kRows * kPerRow;
    constexpr int kEach = kCopies / kThreads;
    static_assert(kCopies % kThreads == 0, "the threads must share a tile evenly");
    const char* const origin = static_cast<const char*>(from.origin);
    // A few at a time, so that their loads are under way together.
    constexpr int kBatch = kEach % 2 == 0 ? 2 : 1;
#pragma unroll 1
    for (int first = 0; first < kEach; first += kBatch) {
      std::uint32_t words[kBatch][5];
      int phase[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int copy = (first + i) * kThreads + thread;
        const int row = copy / kPerRow;
        const int byte = copy % kPerRow * 16;
        const int valid = row < from.rows ? clamp_to(from.length * kSize - byte, 16) : 0;
        const char* const begin = origin + (valid > 0 ? row * from.row_stride * kSize + byte : 0);
        phase[i] = static_cast<int>(reinterpret_cast<std::uint64_t>(begin) % 4);
        const char* const word = begin - phase[i];
        const int end = valid > 0 ? phase[i] + valid : 0;
#pragma unroll
        for (int w = 0; w < 5; ++w) words[i][w] = load_word(word + 4 * w, end - 4 * w);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int copy = (first + i) * kThreads + thread;
        uint4 chunk;
        chunk.x = __funnelshift_r(words[i][0], words[i][1], 8 * phase[i]);
        chunk.y = __funnelshift_r(words[i][1], words[i][2], 8 * phase[i]);
        chunk.z = __funnelshift_r(words[i][2], words[i][3], 8 * phase[i]);
        chunk.w = __funnelshift_r(words[i][3], words[i][4], 8 * phase[i]);
        *reinterpret_cast<uint4*>(tile + Tile::offset(copy / kPerRow, copy % kPerRow * 16)) = chunk;
      }
    }
  }

  // The word's first `left` bytes, the others 0.
  __device__ static std::uint32_t load_word(const char* word, int left) {
    if (left >= 4) return *reinterpret_cast<const std::uint32_t*>(word);
    std::uint32_t bytes = 0;
    for (int i = 0; i < left; ++i) {
      bytes |= static_cast<std::uint32_t>(reinterpret_cast<const unsigned char*>(word)[i]) << 8 * i;
    }
    return bytes;
  }

  // One element at a time, for any strides. Consecutive threads take consecutive addresses where
  // either stride is 1.
  __device__ static void elements(std::uint32_t shared, char* tile, const OperandSource& from,
                                  int thread) {
    constexpr int kCopies = Tile::kRows * Tile::kRowLength;
    constexpr int kEach = kCopies / kThreads;
    static_assert(kCopies % kThreads == 0, "the threads must share a tile evenly");
    const bool rows_fast = from.row_stride == 1 && from.inner_stride != 1;
    const T* const origin = static_cast<const T*>(from.origin);
    const auto place = [&](int i, int& row, int& inner) {
      const int copy = i * kThreads + thread;
      row = rows_fast ? copy % Tile::kRows : copy / Tile::kRowLength;
      inner = rows_fast ? copy / Tile::kRows : copy % Tile::kRowLength;
    };
    if constexpr (kSize >= 4) {
#pragma unroll 4
      for (int i = 0; i < kEach; ++i) {
        int row, inner;
        place(i, row, inner);
        const bool valid = row < from.rows && inner < from.length;
        const T* const global =
            valid ? origin + row * from.row_stride + inner * from.inner_stride : origin;
        ptx::copy_async<kSize>(shared + Tile::offset(row, inner * kSize), global,
                               valid ? kSize : 0);
      }
    } else {
      // Too small for a background copy. Several loads are under way before the first is stored.
      constexpr int kBatch = kEach % 8 == 0 ? 8 : 4;
      static_assert(kEach % kBatch == 0, "the batches must share a thread's elements evenly");
#pragma unroll 1
      for (int first = 0; first < kEach; first += kBatch) {
        T values[kBatch];
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          int row, inner;
          place(first + i, row, inner);
          const bool valid = row < from.rows && inner < from.length;
          values[i] = valid ? origin[row * from.row_stride + inner * from.inner_stride] : T(0);
        }
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          int row, inner;
          place(first + i, row, inner);
          *reinterpret_cast<T*>(tile + Tile::offset(row, inner * kSize)) = values[i];
        }
      }
    }
  }

  // Starts filling `tile` with the k-block at k0; complete for this thread when its copies of the
  // group are.
  __device__ static void start(char* tile, const OperandWalk& walk, std::int64_t k0, int thread) {
    OperandSource from = walk.at_k0;
    from.origin = static_cast<const char*>(from.origin) + k0 * walk.bytes_per_k;
    (Tile::kRowsAlongK ? from.length : from.rows) -= k0;
    const std::uint32_t shared = ptx::shared_address(tile);
    if (walk.width == 16) {
      vectors<16>(shared, from, thread);
    } else if (walk.width == 8 && kSize < 8) {
      vectors<8>(shared, from, thread);
    } else if (walk.width == 4 && kSize < 4) {
      vectors<4>(shared, from, thread);
    } else {
      if constexpr (kSize < 4) {
        if (from.inner_stride == 1) return shifted(tile, from, thread);
      }
      elements(shared, tile, from, thread);
    }
  }
};

}  // namespace tessera::cuda
