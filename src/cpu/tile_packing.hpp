// Panels for tile registers (tile_registers.hpp). Rows of A, where they are not read in place, are
// packed in units of 64 bytes of k, one row of a register each; B is packed as for VNNI, whose
// layout the tile instructions share. f16 is packed in two parts of bf16 (split_f16.hpp), which
// take four products.
//
// Internal linkage; see pack.hpp.
#pragma once

#include <cstdint>

#include "core/tile_registers_rule.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/pack_strips.hpp"
#include "cpu/rearrange_avx512.hpp"
#include "cpu/tile_registers.hpp"

namespace tessera::cpu {
namespace {

struct TileRow {
  unsigned char bytes[kRowBytes];
};

template <class Element>
using RowUnits = PackUnits<Element, Element, kRowBytes / sizeof(Element), TileRow, Keep<Element>>;
template <class Element>
using ColumnUnits = PackUnits<Element, Element, 4 / sizeof(Element), std::uint32_t, Keep<Element>>;

template <class UnitsA, class UnitsB, class Parts>
struct TilePacking {
  static constexpr int kElement = static_cast<int>(sizeof(typename UnitsA::Packed));
  static constexpr int kDepth = kRowBytes / kElement;
  static constexpr int kParts = Parts::kParts;
  using SourceB = typename UnitsB::Source;
  static constexpr int kExtra = 0;  // bytes behind each panel, of its range

  // A k of less than 64 bytes ends behind its last group of 4 in B's panels, and in the registers:
  // the zeros behind it took as long to pack and to load, and drove the rest of B out of the
  // nearest cache. Emerald Rapids, one thread, 2026-11, operands in rows, the time with panels of
  // 64 bytes over the time so, bf16 and i8: 85×1278×8 1.80, 1.97, 172×782×9 1.69, 1.67,
  // 500×1000×8 1.63, 1.54, 1000×1000×16 1.39, 1.47, 300×300×8 1.11, 1.07, 64×256×16 1.10, 1.22,
  // 1994×371×24 1.06, 1.13, 3000×100×20 1.06, 1.09, 700×700×32 1.00, 1.13.
  static constexpr int kGroup = 4 / kElement;
  static constexpr bool kShortens = kParts == 1;

  static std::int64_t padded(std::int64_t depth) { return (depth + kDepth - 1) / kDepth * kDepth; }
  static std::int64_t padded_b(std::int64_t depth) {
    return kShortens ? panel_depth_bytes(depth * kElement) / kElement : padded(depth);
  }
  static std::int64_t panel_bytes(std::int64_t padded_depth) {
    return padded_depth / kGroup * kParts * kPitchB;
  }
  // Of a register's row of A, four for each group of k, which is a row of B.
  static int row_bytes(std::int64_t depth) {
    const bool is_short = depth > 0 && depth < kDepth;
    return is_short ? static_cast<int>(padded_b(depth)) * kElement : kRowBytes;
  }

  static void pack_a(const PackSource& source, void* panels) {
    const std::int64_t depth = padded(source.depth);
    if (pack_strips<typename UnitsA::Source, Parts>(source, panels, panel_bytes(depth))) return;
    pack_panels<UnitsA>(source, depth, panels);
  }
  static void pack_b(const PackSource& source, void* panels) {
    pack_b(source, padded_b(source.depth), panels);
  }
  static void pack_b(const PackSource& source, std::int64_t depth, void* panels) {
    if constexpr (kParts > 1) {
      if (source.along_stride == 1) {
        interleave_parts(source, static_cast<unsigned char*>(panels), panel_bytes(depth));
        return;
      }
    }
    pack_panels<UnitsB>(source, depth, panels);
  }
  template <class Units>
  static void pack_panels(const PackSource& source, std::int64_t padded_depth, void* panels) {
    using ToPanels = Packer<Units, kBlock, TransposeRows>;
    const std::int64_t bytes = panel_bytes(padded_depth);
    if constexpr (kParts == 1) {
      ToPanels::pack(source, padded_depth, panels, bytes);
    } else {
      PackSource one = source;
      auto* panel = static_cast<unsigned char*>(panels);
      for (std::int64_t first = 0; first < source.along; first += kBlock, panel += bytes) {
        one.data =
            static_cast<const typename Units::Source*>(source.data) + first * source.along_stride;
        one.along = some_of(source.along - first, kBlock);
        ToPanels::pack(one, padded_depth, panel, bytes);
        split_panel(panel, bytes);
      }
    }
  }
};

}  // namespace
}  // namespace tessera::cpu
