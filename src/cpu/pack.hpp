// Packing: copies a block of an operand into panels that a microkernel reads front to back. A panel
// is `Width` rows of A (or columns of B) wide; within it `group` consecutive k of one row lie
// together, then the next row, then the next group: the 4-D blocked view
// [panel][k/group][row][group]. Edges are padded with zeros, so that padding adds nothing and no
// stray NaN.
//
// Everything here has internal linkage: each isa_*.cpp compiles its own copy for its instruction
// set, and no linker may fold them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/convert.hpp"
#include "cpu/kernel.hpp"
#include "cpu/widen_lines.hpp"

namespace tessera::cpu {
namespace {

// What packing does to an element besides moving it. `kFlip`: bits of a unit to invert.
template <class To>
struct Keep {
  static constexpr std::uint32_t kFlip = 0;
  template <class Source>
  static To convert(Source value) {
    return static_cast<To>(value);
  }
};
struct WidenToFloat {
  static constexpr std::uint32_t kFlip = 0;
  template <class Source>
  static float convert(Source value) {
    return Convert<Source>::widen(value);
  }
};

// A packed element's bits, as the unsigned integer of its size.
inline std::uint8_t bits_in_unit(std::uint8_t value) {
  return value;
}
inline std::uint8_t bits_in_unit(std::int8_t value) {
  return static_cast<std::uint8_t>(value);
}
inline std::uint16_t bits_in_unit(std::int16_t value) {
  return static_cast<std::uint16_t>(value);
}
inline std::uint16_t bits_in_unit(bf16 value) {
  return value.bits;
}

// One unit of a panel: `kGroup` packed elements, 4 bytes wide (8 for f64), so that packing moves
// units and never looks inside, except to convert.
template <class Element, class SourceElement, int Group, class Unit, class Conversion>
struct PackUnits {
  using Packed = Element;
  using Source = SourceElement;
  using Word = Unit;
  static constexpr int kGroup = Group;
  static_assert(sizeof(Packed) * Group == sizeof(Word), "a unit holds one group");
  // Elements that keep their size keep their bits, but for those to flip.
  static constexpr bool kKeepsBits = sizeof(Packed) == sizeof(Source);
  static constexpr std::uint32_t kFlip = Conversion::kFlip;

  // A unit of elements `stride` apart; `valid` < Group only at the end of k. Bytes that are stored
  // one by one and then loaded as a word would wait for each other.
  static Word gather(const Source* from, std::int64_t stride, int valid) {
    Word word = {};
    if constexpr (Group == 1 || sizeof(Word) > 8) {
      Packed elements[Group] = {};
      for (int g = 0; g < valid; ++g) elements[g] = Conversion::convert(from[g * stride]);
      __builtin_memcpy(&word, elements, sizeof(Word));
    } else {
      for (int g = 0; g < valid; ++g) {
        word |= static_cast<Word>(bits_in_unit(Conversion::convert(from[g * stride])))
                << (8 * sizeof(Packed) * static_cast<unsigned>(g));
      }
    }
    return word;
  }

  // The same of a whole group that lies along k, in one load where no more than bits change.
  static Word load(const Source* from) {
    if constexpr (kKeepsBits) {
      Word word;
      __builtin_memcpy(&word, from, sizeof(Word));
      if constexpr (kFlip != 0) word ^= Word{kFlip};
      return word;
    } else {
      return gather(from, 1, Group);
    }
  }

  // The same of the last elements of a row, with those before them in one load.
  static Word load_last(const Source* from, int valid) {
    if constexpr (kKeepsBits && Group > 1 && sizeof(Word) <= 8) {
      const int missing = Group - valid;
      return load(from - missing) >> (8 * static_cast<int>(sizeof(Source)) * missing);
    } else {
      return gather(from, 1, valid);
    }
  }

  // The same of a whole group in a loop over neighbouring units, which then are vectorised.
  static Word combine(const Source* from, std::int64_t stride) {
    return gather(from, stride, Group);
  }
};

// Transpose turns a few rows of units into columns (see ops_*.hpp).
template <class Units, int Width, class Transpose>
struct Packer {
  using Source = typename Units::Source;
  using Word = typename Units::Word;
  static constexpr int kGroup = Units::kGroup;

  static void pack(const PackSource& source, std::int64_t padded_depth, void* panels,
                   std::int64_t panel_bytes) {
    const std::int64_t groups = padded_depth / kGroup;
    auto* out = static_cast<unsigned char*>(panels);
    const bool interleaves = source.along_stride == 1;
    if (interleaves) interleave_whole(source, out, panel_bytes);
    for (std::int64_t first = 0; first < source.along; first += Width, out += panel_bytes) {
      const Source* from = static_cast<const Source*>(source.data) + first * source.along_stride;
      auto* panel = reinterpret_cast<Word*>(out);
      const std::int64_t left = source.along - first;
      const int width = left < Width ? static_cast<int>(left) : Width;
      std::int64_t group = 0;
      if (interleaves) {
        group =
            width == Width ? source.depth / kGroup : interleave_edge(from, source, width, panel);
        group += interleave_rest(from, source, width, panel + group * Width);
      } else if (source.depth_stride == 1) {
        if constexpr (Width == 1) {
          widen_line<Source, Transpose>(from, source.depth, panel);
          group = source.depth;
        } else if constexpr (kIsTall) {
          group = transpose_tall(from, source, width, panel);
        } else {
          group = width == Width ? transpose(from, source, panel)
                                 : transpose_edge(from, source, width, panel);
        }
      }
      gather(from, source, width, group, groups, panel);
    }
  }

 private:
  // Any strides, and the end of k: element by element, from `group` on.
  static void gather(const Source* from, const PackSource& source, int width, std::int64_t group,
                     std::int64_t groups, Word* panel) {
    const std::int64_t whole = source.depth / kGroup;
    const bool is_dense = source.depth_stride == 1;
    const auto fill = [&](std::int64_t at, auto unit_at) __attribute__((always_inline)) {
      const Source* unit = from + at * kGroup * source.depth_stride;
      Word* to = panel + at * Width;
      for (int i = 0; i < width; ++i, unit += source.along_stride) to[i] = unit_at(unit);
      for (int i = width; i < Width; ++i) to[i] = Word{};
    };
    for (; group < whole; ++group) {
      if (is_dense) {
        fill(group, [](const Source* unit) { return Units::load(unit); });
      } else {
        fill(group,
             [&](const Source* unit) { return Units::gather(unit, source.depth_stride, kGroup); });
      }
    }
    if (const auto valid = static_cast<int>(source.depth % kGroup); group == whole && valid > 0) {
      if (is_dense && group > 0) {
        fill(group, [&](const Source* unit) { return Units::load_last(unit, valid); });
      } else {
        fill(group,
             [&](const Source* unit) { return Units::gather(unit, source.depth_stride, valid); });
      }
      ++group;
    }
    // What is behind k, which may be most of a group of groups (tile_registers.hpp).
    if (group < groups) {
      const auto bytes = static_cast<std::size_t>((groups - group) * Width) * sizeof(Word);
      __builtin_memset(static_cast<void*>(panel + group * Width), 0, bytes);
    }
  }

  // Groups of k that are packed side by side over all panels, so that memory is read as a few long
  // streams: rows are far apart, often on pages of their own. More of them collide in the nearest
  // cache where the rows' stride is a multiple of 4 KB, and a line must stay there until the next
  // panel has taken its part. Zen 4, n = k = 4096, 2026-11, ps/byte, a panel at a time before: f32
  // 61 (118), bf16 50 (136), u8 65 (125); with 16 rows bf16 takes 107.
  static constexpr std::int64_t kTogether = kGroup < 4 ? 4 : 2;

  // The whole panels' whole groups, from rows that lie along the panels' width.
  static void interleave_whole(const PackSource& source, unsigned char* to,
                               std::int64_t panel_bytes) {
    const std::int64_t groups = source.depth / kGroup;
    const std::int64_t panels = source.along / Width;
    for (std::int64_t first = 0; first < groups; first += kTogether) {
      const std::int64_t count = groups - first < kTogether ? groups - first : kTogether;
      const Source* from =
          static_cast<const Source*>(source.data) + first * kGroup * source.depth_stride;
      unsigned char* out = to + first * Width * static_cast<std::int64_t>(sizeof(Word));
      for (std::int64_t p = 0; p < panels; ++p, from += Width, out += panel_bytes) {
        interleave(from, source.depth_stride, count, reinterpret_cast<Word*>(out));
      }
    }
  }

  // Whether the instruction set has code of its own for making units of rows.
  static constexpr bool kHasUnits = Units::kKeepsBits && sizeof(Word) == 4 && requires {
    Transpose::template rows_to_units<Source, kGroup, Width>;
  };

  // And for widening as many units as a vector holds.
  static constexpr bool kWidens = !Units::kKeepsBits && sizeof(Word) == 4 && requires {
    Transpose::template widen<Source>(nullptr, nullptr);
  };

  // And for copying the first units of a row.
  static constexpr bool kCopies = kGroup == 1 && Units::kKeepsBits && requires {
    Transpose::template copy_row<Word, Width>(nullptr, 0, nullptr);
  };

  // Of one panel. The width is constant, so that the compiler can turn this into vector loads and
  // widening.
  static void interleave(const Source* __restrict__ row, std::int64_t depth_stride,
                         std::int64_t groups, Word* __restrict__ to) {
    for (std::int64_t group = 0; group < groups; ++group, to += Width) {
      if constexpr (kGroup == 1 && Units::kKeepsBits) {
        __builtin_memcpy(to, row, Width * sizeof(Word));
      } else if constexpr (kHasUnits) {
        Transpose::template rows_to_units<Source, kGroup, Width>(
            row, depth_stride * static_cast<std::int64_t>(sizeof(Source)), to, Units::kFlip);
      } else if constexpr (kWidens && kGroup == 1) {
        Transpose::template widen_row<Source, Width>(row, Width, to);
      } else {
        for (int i = 0; i < Width; ++i) to[i] = Units::combine(row + i, depth_stride);
      }
      row += kGroup * depth_stride;
    }
  }

  static std::int64_t interleave_edge(const Source* __restrict__ from, const PackSource& source,
                                      int width, Word* __restrict__ to) {
    const std::int64_t groups = source.depth / kGroup;
    for (std::int64_t group = 0; group < groups; ++group, to += Width) {
      const Source* row = from + group * kGroup * source.depth_stride;
      if constexpr (kHasUnits) {
        at_edge(row, source, width, kGroup, to);
      } else if constexpr (kWidens && kGroup == 1) {
        Transpose::template widen_row<Source, Width>(row, width, to);
      } else if constexpr (kCopies) {
        Transpose::template copy_row<Word, Width>(reinterpret_cast<const Word*>(row), width, to);
      } else {
        int i = 0;
        for (; i < width; ++i) to[i] = Units::combine(row + i, source.depth_stride);
        for (; i < Width; ++i) to[i] = Word{};
      }
    }
    return groups;
  }

  // The group of k that is not whole. Returns how many there are: none where the instruction set
  // has no code for it.
  static std::int64_t interleave_rest(const Source* from, const PackSource& source, int width,
                                      Word* to) {
    if constexpr (kHasUnits) {
      const auto rest = static_cast<int>(source.depth % kGroup);
      if (rest == 0) return 0;
      at_edge(from + (source.depth - rest) * source.depth_stride, source, width, rest, to);
      return 1;
    } else {
      return 0;
    }
  }

  static void at_edge(const Source* row, const PackSource& source, int width, int rows, Word* to) {
    Transpose::template rows_to_units_at_edge<Source, kGroup, Width>(
        row, source.depth_stride * static_cast<std::int64_t>(sizeof(Source)), width, rows, to,
        Units::kFlip);
  }

  // Whether the instruction set has code for as many rows at a time as make a vector, and panels
  // are whole vectors.
  static constexpr bool kIsTall = [] {
    if constexpr (Units::kKeepsBits && (sizeof(Word) == 4 || sizeof(Word) == 8) &&
                  requires { Transpose::template kTallRows<Word>; }) {
      return Width % Transpose::template kTallRows<Word> == 0;
    } else {
      return false;
    }
  }();

  // From rows that lie along k, so many at a time and down all of it; what the panel is wider than
  // there are rows is zero. Returns the number of groups done: all whole ones, but of a k shorter
  // than a chunk.
  static std::int64_t transpose_tall(const Source* from, const PackSource& source, int width,
                                     Word* to) {
    constexpr int kRows = Transpose::template kTallRows<Word>;
    constexpr int kChunk = Transpose::template kTallChunk<Word>;
    static constexpr Source kZeros[(kLine > kChunk ? kLine : kChunk) * kGroup] = {};
    const std::int64_t groups = source.depth / kGroup;
    const std::int64_t stride = source.along_stride;
    if (groups < kChunk) return 0;
    const bool by_lines = groups >= kLine && collide(stride);
    const auto transpose_rows = [&](const auto& at, Word* out) __attribute__((always_inline)) {
      tall_chunks(at, by_lines ? tall_lines(at, groups, out) : 0, groups, out);
    };
    for (int first = 0; first < Width; first += kRows) {
      const Source* rows = from + first * stride;
      const int count = width - first;
      if (count >= kRows) {
        transpose_rows([&](int r, std::int64_t k) { return rows + r * stride + k; }, to + first);
      } else {
        transpose_rows(
            [&](int r, std::int64_t k) { return r < count ? rows + r * stride + k : kZeros; },
            to + first);
      }
    }
    return groups;
  }

  // Units of a line, where the instruction set has code for one of each row at a time.
  static constexpr std::int64_t kLine = [] {
    if constexpr (requires { Transpose::template kTallLine<Word>; }) {
      return Transpose::template kTallLine<Word>;
    } else {
      return 0;
    }
  }();

  // Whether lines of a vector's rows share one or two sets of a nearest cache with 4 KB a way. Zen
  // 4, from L2, ps/byte by chunks and by lines, f32, rows 2048 bytes apart 24 and 22, 4096 51 and
  // 31. Not measured on Intel's processors.
  static bool collide(std::int64_t stride) {
    constexpr std::int64_t kApart = 2048;
    return kLine > 0 && stride * static_cast<std::int64_t>(sizeof(Source)) % kApart == 0;
  }

  // From `group` on. `at(r, k)` is where row r's element k lies.
  template <class At>
  static void tall_chunks(const At& at, std::int64_t group, std::int64_t groups, Word* to) {
    constexpr std::int64_t kChunk = Transpose::template kTallChunk<Word>;
    for (; group < groups; group += kChunk) {
      // The last units again where no whole chunk is left.
      if (group + kChunk > groups) group = groups - kChunk;
      tall_chunk(at, group, to);
    }
  }

  template <class At>
  [[gnu::always_inline]] static void tall_chunk(const At& at, std::int64_t group, Word* to) {
    Transpose::tall_to_columns(
        [&](int r) __attribute__((always_inline)) { return at(r, group * kGroup); },
        to + group * Width, Width, Units::kFlip);
  }

  // The first row's whole lines, and the units before them; lines that begin within a unit are read
  // across their ends. Returns the number of groups done. Not inline: its many registers would be
  // saved for a short k as well.
  template <class At>
  [[gnu::noinline]] static std::int64_t tall_lines(const At& at, std::int64_t groups, Word* to) {
    std::int64_t group = 0;
    if constexpr (kLine > 0) {
      constexpr std::int64_t kChunk = Transpose::template kTallChunk<Word>;
      constexpr std::int64_t kUnit = sizeof(Word);
      const auto in_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at(0, 0)) %
                                                     std::uintptr_t{kLine * kUnit});
      const std::int64_t before = in_line > 0 ? kLine - (in_line + kUnit - 1) / kUnit : 0;
      for (; group < before; group += kChunk) tall_chunk(at, group, to);
      group = before;
      for (; group + kLine <= groups; group += kLine) {
        Transpose::lines_to_columns(
            [&](int r) __attribute__((always_inline)) { return at(r, group * kGroup); },
            to + group * Width, Width, Units::kFlip);
      }
    }
    return group;
  }

  // Chunks of a few rows that are transposed before the next rows', which are fetched meanwhile:
  // chunks of all rows in turn would not stay in the nearest cache where the rows' stride is a
  // multiple of 4 KB. Zen 4, 2026-11, from L2, ps/byte: 31 with such a stride and 25 with others;
  // all rows in turn 43 and 23.
  static constexpr std::int64_t kChunksTogether = 8;

  // From rows that lie along k, straight from memory where no bits change. Returns the number of
  // groups done, a multiple of the transposition's chunk.
  static std::int64_t transpose(const Source* __restrict__ from, const PackSource& source,
                                Word* __restrict__ to) {
    if constexpr (!Units::kKeepsBits || sizeof(Word) > 8) {
      return transpose_edge(from, source, Width, to);
    } else {
      constexpr int kRows = Transpose::template kRows<Word>;
      constexpr int kChunk = Transpose::template kChunk<Word>;
      static_assert(Width >= kRows);
      const std::int64_t groups = source.depth / kGroup / kChunk * kChunk;
      constexpr std::int64_t kTogether = kChunksTogether * kChunk;
      for (std::int64_t first = 0; first < groups; first += kTogether) {
        const std::int64_t end = first + kTogether < groups ? first + kTogether : groups;
        for (int next = 0; next < Width; next += kRows) {
          // The last rows again where no whole chunk is left: 6 are 4 and 4.
          const int i = next + kRows <= Width ? next : Width - kRows;
          // Of the next rows' block, of the first rows' next one, or of the next panel's first.
          const Source* ahead = from + first * kGroup + (i + kRows) * source.along_stride;
          if (i + kRows == Width) {
            ahead = end < groups ? from + end * kGroup : from + Width * source.along_stride;
          }
          const Source* rows = from + first * kGroup + i * source.along_stride;
          Word* out = to + first * Width + i;
          for (std::int64_t group = first; group < end; group += kChunk) {
            for (int r = 0; r < kRows; ++r) __builtin_prefetch(ahead + r * source.along_stride);
            Transpose::rows_to_columns(
                reinterpret_cast<const Word*>(rows),
                source.along_stride * static_cast<std::int64_t>(sizeof(Source)), out, Width,
                Units::kFlip);
            rows += kChunk * kGroup;
            ahead += kChunk * kGroup;
            out += kChunk * Width;
          }
        }
      }
      return groups;
    }
  }

  // The same through a buffer, for fewer rows than the panel is wide and for elements that change.
  static std::int64_t transpose_edge(const Source* __restrict__ from, const PackSource& source,
                                     int width, Word* __restrict__ to) {
    const std::int64_t groups = source.depth / kGroup;
    std::int64_t group = 0;
    if constexpr (sizeof(Word) > 8) {
      // A unit of one row is already as long as a vector.
      for (; group < groups; ++group, to += Width) {
        const Source* column = from + group * kGroup;
        int i = 0;
        for (; i < width; ++i) to[i] = Units::load(column + i * source.along_stride);
        for (; i < Width; ++i) to[i] = Word{};
      }
    } else {
      constexpr int kRows = Transpose::template kRows<Word>;
      constexpr int kChunk = Transpose::template kChunk<Word>;
      if (groups < kChunk) return 0;
      while (group < groups) {
        // The last units again where no whole chunk is left.
        if (group + kChunk > groups) group = groups - kChunk;
        Word rows[Width][kChunk];
        for (int i = 0; i < width; ++i) {
          const Source* row = from + i * source.along_stride + group * kGroup;
          __builtin_prefetch(row + 4 * kChunk * kGroup);
          if constexpr (kWidens) {
            Transpose::widen(row, rows[i]);
          } else {
            for (int g = 0; g < kChunk; ++g) rows[i][g] = Units::combine(row + g * kGroup, 1);
          }
        }
        for (int i = width; i < Width; ++i) {
          for (int g = 0; g < kChunk; ++g) rows[i][g] = Word{};
        }
        for (int next = 0; next < Width; next += kRows) {
          const int i = next + kRows <= Width ? next : Width - kRows;
          Transpose::rows_to_columns(&rows[i][0], sizeof(rows[0]), to + group * Width + i, Width,
                                     0);
        }
        group += kChunk;
      }
    }
    return group;
  }
};

}  // namespace
}  // namespace tessera::cpu
