// The short way for small products: one pass over k, both operands read where they lie, and the
// sums collected in C. Nothing is packed or allocated, and no product is divided: the kernel is
// called once for each, and a group's products are dealt to threads in runs.
#pragma once

#include <optional>
#include <span>

#include "cpu/kernel.hpp"
#include "tessera/plan.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cpu {

// What products that differ in their addresses alone (core/alike.hpp) have in common.
struct DirectForm {
  void (*multiply)(const BlockTask& task) = nullptr;
  BlockTask task;       // all but the addresses
  bool turned = false;  // Cᵀ = Bᵀ·Aᵀ
  double flops = 0;
};

// Empty where the product must go the general way (tile_run.cpp). The bits are the same either way:
// every element of C is one chain of multiply-adds along k.
std::optional<DirectForm> direct_form(const Plan& plan, const KernelCode& code,
                                      const Operands& operands);

inline void multiply_directly(const DirectForm& form, const Operands& operands) {
  BlockTask task = form.task;
  task.a.data = form.turned ? operands.b.data : operands.a.data;
  task.b.data = form.turned ? operands.a.data : operands.b.data;
  task.sum = operands.c.data;
  form.multiply(task);
}

// Whether the plan's products all went this way and C is written. `threads` may be used.
bool run_directly(const Plan& plan, const KernelCode& code, std::span<const Operands> groups,
                  int threads);

}  // namespace tessera::cpu
