// A Problem: what is to be computed, without the data. It is all that a planner sees of a call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/element_type.hpp"
#include "tessera/epilogue.hpp"
#include "tessera/export.hpp"
#include "tessera/matrix_view.hpp"
#include "tessera/operand_layout.hpp"

namespace tessera {

// C (m×n) ← activation(alpha · A (m×k) · B (k×n) + beta · C + bias).
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

struct Problem {
  GemmTypes types;
  // One entry for a dense product; one per product for a batch or a group. Empty means no work.
  std::vector<GemmShape> groups;
  OperandLayout a, b, c;
  double alpha = 1.0;
  double beta = 0.0;
  Epilogue epilogue;
};

// A dense problem of row-major operands without gaps between rows, from well aligned addresses.
TESSERA_API Problem dense_problem(GemmShape shape, GemmTypes types = {});

// 2·m·n·k summed over the groups.
TESSERA_API double flops_of(const Problem& problem);

class PackedMatrix;  // packed.hpp

// The data of one group. C is read only where beta ≠ 0, and must not overlap A, B or the bias.
struct Operands {
  ConstMatrixView a;
  ConstMatrixView b;
  MatrixView c;
  ConstVectorView bias = {};
  // On a CPU, B as pack_b left it; then b says its shape and type, and its data is not read and may
  // be null.
  const PackedMatrix* packed_b = nullptr;
};

// The Problem that the given operands pose. Throws Error(invalid_argument) where shapes, types,
// strides or pointers are wrong (core/validate.cpp lists the rules).
TESSERA_API Problem describe(std::span<const Operands> groups, double alpha, double beta,
                             Epilogue epilogue);

}  // namespace tessera
