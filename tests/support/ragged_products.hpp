// What tests of ragged calls vary, and their judge.
#pragma once

#include <string>
#include <vector>

#include "support/ragged_sizes.hpp"
#include "tessera/grouped.hpp"

namespace tessera::test {

inline const std::vector<GemmTypes> kRaggedTypes = {
    {ElementType::f32, ElementType::f32, ElementType::f32},
    {ElementType::f64, ElementType::f64, ElementType::f64},
    {ElementType::bf16, ElementType::bf16, ElementType::bf16},
    {ElementType::bf16, ElementType::bf16, ElementType::f32},
    {ElementType::f16, ElementType::f16, ElementType::f16},
    {ElementType::i8, ElementType::i8, ElementType::i32}};
inline constexpr Spread kSpreads[] = {Spread::even, Spread::dirichlet, Spread::one_has_all,
                                      Spread::all_empty};

// Scaling and epilogue of a call.
struct Scalars {
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
};
inline const std::vector<Scalars> kScalars = {
    {1, 0, {}}, {0.75, -0.5, {}}, {1, 0, {BiasAxis::column, Activation::silu}}, {0, 1, {}}};

// Whole numbers have no fractions, and no activation but ReLU.
bool suits(const GemmTypes& types, const Scalars& scalars);

// One product against the reference; `before` is C as it was. Empty, or what is wrong.
std::string judge(const Operands& product, const ConstMatrixView& before, const Scalars& scalars);

}  // namespace tessera::test
