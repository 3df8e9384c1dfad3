// Products whose sizes stand in device memory, from sizes to verdict: operands of every door of
// grouped.hpp on the device, the same products one by one for the judge, and a look at every
// element of C that no product owns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/device_matrix.hpp"
#include "cuda/product.hpp"
#include "tessera/grouped.hpp"

namespace tessera::test {

enum class DoorKind { rows, masked, depth, array };

struct RaggedCase {
  DoorKind door = DoorKind::rows;
  GemmTypes types = {};
  // rows: m of each, n and k of all. masked: the same, m at most `capacity`. depth: k of each.
  std::vector<GemmShape> shapes = {};
  std::int64_t capacity = 0;  // rows and depth: the length that is divided; 0: the groups' sum
  std::int64_t first = 0;     // rows and depth: where group 0 begins
  bool is_b_transposed = false;
  bool is_a_transposed = false;
  bool is_c_transposed = false;
  std::int64_t padding = 0;    // of every matrix's lines, in elements
  std::int64_t alignment = 0;  // arrays: of pointers and lines, in bytes; 0: a line follows another
  bool is_bounded = true;      // arrays: the bound is that of the shapes
  IndexType index = IndexType::i32;
  bool has_ends_only = false;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue = {};
  std::uint64_t seed = 1;
};

// Sizes from 0 to `most` with many zeros and primes, and some large ones.
std::vector<std::int64_t> draw_sizes(std::int64_t groups, std::int64_t most, std::uint64_t seed);

class DeviceRagged {
 public:
  explicit DeviceRagged(const RaggedCase& what);

  const RaggedCase& what() const { return what_; }
  // With sizes in device memory.
  RaggedProducts products() const;
  // The same products with sizes on the host and operands on the device.
  std::vector<Operands> list() const;

  // New sizes of the same number of groups, of rows or depth, in the order of a stream. What the
  // operands hold stays.
  void set_sizes(const std::vector<std::int64_t>& sizes, cudaStream_t stream = nullptr);
  // Numbers as they are, right or wrong.
  void set_numbers(const std::vector<std::int64_t>& numbers, cudaStream_t stream = nullptr);

  void reset_c(cudaStream_t stream = nullptr) const { c_->copy_from(*c_before_, stream); }
  const DeviceMatrix& c() const { return *c_; }
  const DeviceMatrix& c_before() const { return *c_before_; }

  // Empty if every product is right and nothing else was written.
  std::string verdict(std::int64_t contributors) const;

 private:
  // index(i) gives the i-th array of sizes.
  template <class Index>
  RaggedProducts with(const Index& index) const;

  RaggedCase what_;
  std::unique_ptr<DeviceMatrix> a_, b_, c_, c_before_, bias_;

  struct Numbers {
    std::vector<std::int64_t> m, n, k, lda, ldb, ldc;  // rows, masked and depth: all but m empty
    std::vector<const void*> a, b, bias;
    std::vector<void*> c;
  };
  Numbers numbers_;
  std::unique_ptr<DeviceBuffer> indices_;   // six arrays of one length, or one
  std::unique_ptr<DeviceBuffer> pointers_;  // four arrays
};

// A plan for these views; nothing where the kernel cannot take them.
std::optional<Plan> forced_ragged_plan(const DeviceRagged& ragged, const KernelEntry& kernel,
                                       const Schedule& schedule);

}  // namespace tessera::test
