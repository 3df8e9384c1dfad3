// The short way for small products: one pass over k, operands read where they lie (but for a B
// whose rows are not dense, which is packed whole), and the sums collected in C. No product is
// divided: the kernel is called once for each, and a group's products are dealt to threads in runs.
#pragma once

#include <optional>
#include <span>

#include "cpu/kernel.hpp"
#include "cpu/workspace.hpp"
#include "tessera/plan.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cpu {

// What products that differ in their addresses alone (core/alike.hpp) have in common.
struct DirectForm {
  void (*multiply)(const BlockTask& task) = nullptr;
  BlockTask task;       // all but the addresses
  bool turned = false;  // Cᵀ = Bᵀ·Aᵀ
  double flops = 0;
  // Where B is packed first, how and into how many bytes; else null.
  void (*pack_b)(const PackSource& source, void* panels) = nullptr;
  PackSource source_b;  // all but the address
  std::size_t packed_bytes = 0;
};

// Empty where the product must go the general way (tile_run.cpp). The bits are the same either way:
// every element of C is one chain of multiply-adds along k.
std::optional<DirectForm> direct_form(const Plan& plan, const KernelCode& code,
                                      const Operands& operands);

// False where there is no memory to pack B, and nothing is written.
inline bool multiply_directly(const DirectForm& form, const Operands& operands) {
  BlockTask task = form.task;
  task.a.data = form.turned ? operands.b.data : operands.a.data;
  task.b.data = form.turned ? operands.a.data : operands.b.data;
  task.sum = operands.c.data;
  if (form.pack_b != nullptr) {
    void* panels = thread_panels().reserve(form.packed_bytes);
    if (panels == nullptr) return false;
    PackSource source = form.source_b;
    source.data = task.b.data;
    form.pack_b(source, panels);
    task.b.data = panels;
  }
  form.multiply(task);
  return true;
}

// Whether the plan's products all went this way and C is written. `threads` may be used.
bool run_directly(const Plan& plan, const KernelCode& code, std::span<const Operands> groups,
                  int threads);

}  // namespace tessera::cpu
