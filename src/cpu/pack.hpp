// Packing: copies a block of an operand into panels that a microkernel reads front to back. A panel
// is `Width` rows of A (or columns of B) wide; within it `group` consecutive k of one row lie
// together, then the next row, then the next group: the 4-D blocked view
// [panel][k/group][row][group]. Edges are padded with zeros, so that padding adds nothing and no
// stray NaN.
//
// Everything here has internal linkage: each isa_*.cpp compiles its own copy for its instruction
// set, and no linker may fold them.
#pragma once

#include <cstdint>

#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// One unit of a panel: `kGroup` packed elements, 4 bytes wide (8 for f64), so that packing moves
// units and never looks inside, except to convert.
template <class Element, class SourceElement, int Group, class Unit, class Convert>
struct PackUnits {
  using Packed = Element;
  using Source = SourceElement;
  using Word = Unit;
  static constexpr int kGroup = Group;
  static_assert(sizeof(Packed) * Group == sizeof(Word), "a unit holds one group");

  // `valid` < Group only at the end of k.
  static Word gather(const Source* from, std::int64_t stride, int valid) {
    Packed elements[Group] = {};
    for (int g = 0; g < valid; ++g) elements[g] = Convert::convert(from[g * stride]);
    Word word;
    __builtin_memcpy(&word, elements, sizeof(Word));
    return word;
  }
};

// Transpose turns four rows of 32-bit units into columns (see ops_*.hpp).
template <class Units, int Width, class Transpose>
struct Packer {
  using Source = typename Units::Source;
  using Word = typename Units::Word;
  static constexpr int kGroup = Units::kGroup;

  static void pack(const PackSource& source, std::int64_t padded_depth, void* panels,
                   std::int64_t panel_bytes) {
    const std::int64_t groups = padded_depth / kGroup;
    const std::int64_t whole_groups = source.depth / kGroup;
    auto* out = static_cast<unsigned char*>(panels);
    for (std::int64_t first = 0; first < source.along; first += Width, out += panel_bytes) {
      const Source* from = static_cast<const Source*>(source.data) + first * source.along_stride;
      auto* panel = reinterpret_cast<Word*>(out);
      const std::int64_t left = source.along - first;
      const int width = left < Width ? static_cast<int>(left) : Width;
      std::int64_t group = 0;
      if (source.along_stride == 1 && width == Width) {
        for (; group < whole_groups; ++group) {
          interleave(from + group * kGroup * source.depth_stride, source.depth_stride,
                     panel + group * Width);
        }
      } else if (source.depth_stride == 1) {
        group = transpose(from, source.along_stride, whole_groups, width, panel);
      }
      for (; group < groups; ++group) {
        const std::int64_t remaining = source.depth - group * kGroup;
        const int valid = remaining >= kGroup ? kGroup
                          : remaining > 0     ? static_cast<int>(remaining)
                                              : 0;
        const Source* column = from + group * kGroup * source.depth_stride;
        for (int i = 0; i < width; ++i) {
          panel[group * Width + i] =
              Units::gather(column + i * source.along_stride, source.depth_stride, valid);
        }
        for (int i = width; i < Width; ++i) panel[group * Width + i] = Word{};
      }
    }
  }

 private:
  // One group of k from rows that lie along the panel's width. With a constant count the compiler
  // turns this into vector loads, widening and interleaving.
  static void interleave(const Source* __restrict__ from, std::int64_t depth_stride,
                         Word* __restrict__ to) {
    for (int i = 0; i < Width; ++i) to[i] = Units::gather(from + i, depth_stride, kGroup);
  }

  // From rows that lie along k. Returns the number of groups done.
  static std::int64_t transpose(const Source* __restrict__ from, std::int64_t along_stride,
                                std::int64_t groups, int width, Word* __restrict__ to) {
    std::int64_t group = 0;
    if constexpr (sizeof(Word) > 8) {
      // A unit of one row is already as long as a vector.
      for (; group < groups; ++group) {
        const Source* column = from + group * kGroup;
        for (int i = 0; i < width; ++i) {
          to[group * Width + i] = Units::gather(column + i * along_stride, 1, kGroup);
        }
        for (int i = width; i < Width; ++i) to[group * Width + i] = Word{};
      }
      return group;
    }
    constexpr int kChunk = Transpose::kChunk;
    for (; group + kChunk <= groups; group += kChunk) {
      Word rows[Width][kChunk];
      for (int i = 0; i < width; ++i) {
        const Source* row = from + i * along_stride + group * kGroup;
        for (int g = 0; g < kChunk; ++g) rows[i][g] = Units::gather(row + g * kGroup, 1, kGroup);
      }
      for (int i = width; i < Width; ++i) {
        for (int g = 0; g < kChunk; ++g) rows[i][g] = Word{};
      }
      Word* chunk = to + group * Width;
      int i = 0;
      if constexpr (sizeof(Word) == 4) {
        for (; i + 4 <= Width; i += 4) Transpose::four_rows(&rows[i][0], chunk + i, Width);
      }
      for (; i < Width; ++i) {
        for (int g = 0; g < kChunk; ++g) chunk[g * Width + i] = rows[i][g];
      }
    }
    return group;
  }
};

}  // namespace
}  // namespace tessera::cpu
