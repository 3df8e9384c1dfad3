// How an operand lies in memory, as far as it decides which kernels can read it.
#pragma once

#include <cstdint>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

enum class Major : std::uint8_t {
  row,      // col_stride is 1
  column,   // row_stride is 1
  general,  // neither
  packed,   // B alone, on a CPU: as pack_b leaves it (packed.hpp)
};

struct OperandLayout {
  Major major = Major::row;
  // The largest power of two, up to 128, that divides the base address and the outer stride in
  // bytes, of every group. TMA wants 16.
  int alignment = 16;

  friend bool operator==(const OperandLayout&, const OperandLayout&) = default;
};

// Of a packed B.
inline constexpr OperandLayout kPackedLayout{Major::packed, 128};

TESSERA_API std::string_view name_of(Major major);
TESSERA_API Major major_from_name(std::string_view name);

}  // namespace tessera
