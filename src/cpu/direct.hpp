// The short way for small products: one pass over k, operands read where they lie or else packed
// whole, and the sums collected in C. No product is divided: the kernel is called once for each,
// and a group's products are dealt to threads in runs.
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
  // An operand that is packed first, how and into how many bytes; `pack` is null in place.
  struct Packing {
    void (*pack)(const PackSource& source, void* panels) = nullptr;
    PackSource source;  // all but the address
    std::size_t bytes = 0;
  };
  Packing a;
  Packing b;

  std::size_t packed_bytes() const { return a.bytes + b.bytes; }
};

// Empty where the product must go the general way (tile_run.cpp). The bits are the same either way:
// every element of C is one chain of multiply-adds along k.
std::optional<DirectForm> direct_form(const Plan& plan, const KernelCode& code,
                                      const Operands& operands);

inline const void* packed_operand(const DirectForm::Packing& packing, const void* data,
                                  void* panels) {
  if (packing.pack == nullptr) return data;
  PackSource source = packing.source;
  source.data = data;
  packing.pack(source, panels);
  return panels;
}

// False where there is no memory to pack into, and nothing is written.
inline bool multiply_directly(const DirectForm& form, const Operands& operands) {
  BlockTask task = form.task;
  task.a.data = form.turned ? operands.b.data : operands.a.data;
  task.b.data = form.turned ? operands.a.data : operands.b.data;
  task.sum = operands.c.data;
  if (form.packed_bytes() > 0) {
    auto* panels = static_cast<unsigned char*>(thread_panels().reserve(form.packed_bytes()));
    if (panels == nullptr) return false;
    task.a.data = packed_operand(form.a, task.a.data, panels);
    task.b.data = packed_operand(form.b, task.b.data, panels + form.a.bytes);
  }
  form.multiply(task);
  return true;
}

// Whether the plan's products all went this way and C is written. `threads` may be used.
bool run_directly(const Plan& plan, const KernelCode& code, std::span<const Operands> groups,
                  int threads);

}  // namespace tessera::cpu
