#include "cuda/ragged_case.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "cuda/judge.hpp"
#include "ragged.hpp"
#include "ragged_device.hpp"
#include "tessera/error.hpp"

namespace tessera::test {
namespace {

std::int64_t round_up(std::int64_t x, std::int64_t unit) {
  return (x + unit - 1) / unit * unit;
}

std::vector<std::byte> bytes_of(const std::vector<std::int64_t>& numbers, IndexType type) {
  std::vector<std::byte> bytes;
  for (const std::int64_t number : numbers) {
    const auto narrow = static_cast<std::int32_t>(number);
    const auto* const from = type == IndexType::i64 ? reinterpret_cast<const std::byte*>(&number)
                                                    : reinterpret_cast<const std::byte*>(&narrow);
    bytes.insert(bytes.end(), from, from + (type == IndexType::i64 ? 8 : 4));
  }
  return bytes;
}

void upload(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  // From pageable memory: copied away before the call returns.
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

// A batch of matrices one below another: (groups·rows, cols), or each transposed.
template <class Batch>
Batch stack(const MatrixView& all, std::int64_t groups, std::int64_t rows, bool is_transposed) {
  Batch batch;
  batch.data = all.data;
  batch.groups = groups;
  batch.rows = rows;
  batch.cols = all.cols;
  batch.group_stride = rows * all.row_stride;
  batch.row_stride = all.row_stride;
  batch.col_stride = all.col_stride;
  batch.type = all.type;
  return is_transposed ? batch.transposed() : batch;
}

}  // namespace

std::vector<std::int64_t> draw_sizes(std::int64_t groups, std::int64_t most, std::uint64_t seed) {
  constexpr std::int64_t kPrimes[] = {1, 2, 3, 5, 7, 13, 31, 61, 127, 131, 191, 257, 509};
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  std::vector<std::int64_t> sizes;
  for (std::int64_t g = 0; g < groups; ++g) {
    switch (below(4)) {
      case 0:
        sizes.push_back(0);
        break;
      case 1:
        sizes.push_back(std::min(most, kPrimes[below(std::size(kPrimes))]));
        break;
      case 2:
        sizes.push_back(below(most + 1));
        break;
      default:
        sizes.push_back(below(std::min<std::int64_t>(most, 40) + 1));
    }
  }
  return sizes;
}

DeviceRagged::DeviceRagged(const RaggedCase& what) : what_(what) {
  const auto groups = static_cast<std::int64_t>(what_.shapes.size());
  const GemmShape common = groups > 0 ? what_.shapes.front() : GemmShape{};
  const DeviceFill fill = what_.beta == 0 ? DeviceFill::poison : DeviceFill::normal;
  const auto matrix = [&](ElementType type, std::int64_t rows, std::int64_t cols, DeviceFill how,
                          std::uint64_t seed, bool is_transposed) {
    // Lines are padded to the alignment that TMA wants where the case asks for it.
    return std::make_unique<DeviceMatrix>(
        type, rows, cols, how, 5 * what_.seed + seed,
        DeviceLayout{.column_major = is_transposed, .padding = what_.padding});
  };
  const auto outputs = [&](std::int64_t rows, std::int64_t cols) {
    for (auto* c : {&c_, &c_before_}) {
      *c = matrix(what_.types.c, rows, cols, fill, 2, what_.is_c_transposed);
    }
  };
  bias_ = matrix(what_.types.c, std::max<std::int64_t>(1, groups),
                 std::max<std::int64_t>(1, common.n), DeviceFill::normal, 3, false);

  std::int64_t sum = what_.first;
  for (const GemmShape& shape : what_.shapes) {
    sum += what_.door == DoorKind::depth ? shape.k : shape.m;
  }
  if (what_.capacity == 0) what_.capacity = sum;
  const std::int64_t length = what_.capacity;
  const bool b_flips = what_.is_b_transposed;

  switch (what_.door) {
    case DoorKind::rows:
      a_ = matrix(what_.types.a, length, common.k, DeviceFill::normal, 0, what_.is_a_transposed);
      outputs(length, common.n);
      break;
    case DoorKind::masked:
      a_ = matrix(what_.types.a, groups * length, common.k, DeviceFill::normal, 0, false);
      outputs(groups * length, common.n);
      break;
    case DoorKind::depth:
      a_ = matrix(what_.types.a, common.m, length, DeviceFill::normal, 0, what_.is_a_transposed);
      b_ = matrix(what_.types.b, length, common.n, DeviceFill::normal, 1, b_flips);
      outputs(groups * common.m, common.n);
      break;
    case DoorKind::array: {
      const std::int64_t unit = std::max<std::int64_t>(what_.alignment, 1);
      std::int64_t at[3] = {};
      std::vector<std::int64_t> starts[3];
      for (const GemmShape& s : what_.shapes) {
        const ElementType types[3] = {what_.types.a, what_.types.b, what_.types.c};
        const std::int64_t lines[3] = {what_.is_a_transposed ? s.k : s.m, b_flips ? s.n : s.k, s.m};
        const std::int64_t lengths[3] = {what_.is_a_transposed ? s.m : s.k, b_flips ? s.k : s.n,
                                         s.n};
        std::vector<std::int64_t>* const leading[3] = {&numbers_.lda, &numbers_.ldb, &numbers_.ldc};
        for (int i = 0; i < 3; ++i) {
          const std::int64_t size = size_of(types[i]);
          const std::int64_t elements = std::max<std::int64_t>(1, unit / size);
          const std::int64_t lead =
              round_up(std::max<std::int64_t>(1, lengths[i]), elements) + what_.padding;
          leading[i]->push_back(lead);
          starts[i].push_back(at[i]);
          at[i] += round_up(lines[i] * lead, elements) + elements;
        }
        numbers_.m.push_back(s.m);
        numbers_.n.push_back(s.n);
        numbers_.k.push_back(s.k);
      }
      a_ = matrix(what_.types.a, 1, std::max<std::int64_t>(1, at[0]), DeviceFill::normal, 0, false);
      b_ = matrix(what_.types.b, 1, std::max<std::int64_t>(1, at[1]), DeviceFill::normal, 1, false);
      outputs(1, std::max<std::int64_t>(1, at[2]));
      for (std::size_t g = 0; g < what_.shapes.size(); ++g) {
        const auto address = [&](const DeviceMatrix& all, std::int64_t element) {
          return static_cast<std::byte*>(all.view().data) + element * size_of(all.view().type);
        };
        numbers_.a.push_back(address(*a_, starts[0][g]));
        numbers_.b.push_back(address(*b_, starts[1][g]));
        numbers_.c.push_back(address(*c_, starts[2][g]));
        numbers_.bias.push_back(bias_->view().data);
      }
      break;
    }
  }
  if (what_.door == DoorKind::rows || what_.door == DoorKind::masked) {
    b_ = matrix(what_.types.b, groups * (b_flips ? common.n : common.k),
                b_flips ? common.k : common.n, DeviceFill::normal, 1, false);
  }

  if (what_.door == DoorKind::array) {
    const std::size_t count = what_.shapes.size();
    indices_ = std::make_unique<DeviceBuffer>(6 * 8 * std::max<std::size_t>(1, count));
    pointers_ = std::make_unique<DeviceBuffer>(4 * 8 * std::max<std::size_t>(1, count));
    auto* index = static_cast<std::byte*>(indices_->data());
    for (const auto* array :
         {&numbers_.m, &numbers_.n, &numbers_.k, &numbers_.lda, &numbers_.ldb, &numbers_.ldc}) {
      const std::vector<std::byte> bytes = bytes_of(*array, what_.index);
      upload(index, bytes.data(), bytes.size(), nullptr);
      index += 8 * count;
    }
    auto* pointer = static_cast<std::byte*>(pointers_->data());
    upload(pointer, numbers_.a.data(), 8 * count, nullptr);
    upload(pointer + 8 * count, numbers_.b.data(), 8 * count, nullptr);
    upload(pointer + 16 * count, numbers_.c.data(), 8 * count, nullptr);
    upload(pointer + 24 * count, numbers_.bias.data(), 8 * count, nullptr);
  } else {
    indices_ = std::make_unique<DeviceBuffer>(8 * (what_.shapes.size() + 1));
    std::vector<std::int64_t> sizes;
    for (const GemmShape& shape : what_.shapes) {
      sizes.push_back(what_.door == DoorKind::depth ? shape.k : shape.m);
    }
    set_sizes(sizes);
  }
  check(cudaDeviceSynchronize());
}

void DeviceRagged::set_sizes(const std::vector<std::int64_t>& sizes, cudaStream_t stream) {
  std::vector<std::int64_t> numbers;
  if (what_.door == DoorKind::masked) {
    numbers = sizes;
  } else {
    std::int64_t at = what_.first;
    if (!what_.has_ends_only) numbers.push_back(at);
    for (const std::int64_t size : sizes) numbers.push_back(at += size);
  }
  set_numbers(numbers, stream);
}

void DeviceRagged::set_numbers(const std::vector<std::int64_t>& numbers, cudaStream_t stream) {
  numbers_.m = numbers;
  const std::vector<std::byte> bytes = bytes_of(numbers, what_.index);
  upload(indices_->data(), bytes.data(), bytes.size(), stream);
}

template <class Index>
RaggedProducts DeviceRagged::with(const Index& index) const {
  const auto groups = static_cast<std::int64_t>(what_.shapes.size());
  const GemmShape common = groups > 0 ? what_.shapes.front() : GemmShape{};
  const std::int64_t weight_rows = what_.is_b_transposed ? common.n : common.k;
  switch (what_.door) {
    case DoorKind::rows:
      return RaggedRows{
          a_->view(), index(0),
          stack<ConstBatchView>(b_->view(), groups, weight_rows, what_.is_b_transposed), c_->view(),
          bias_->view()};
    case DoorKind::masked:
      return MaskedRows{
          stack<ConstBatchView>(a_->view(), groups, what_.capacity, false), index(0),
          stack<ConstBatchView>(b_->view(), groups, weight_rows, what_.is_b_transposed),
          stack<BatchView>(c_->view(), groups, what_.capacity, false), bias_->view()};
    case DoorKind::depth:
      return RaggedK{a_->view(), b_->view(), index(0),
                     stack<BatchView>(c_->view(), groups, common.m, false), bias_->view()};
    case DoorKind::array:
      break;
  }
  PointerArray array;
  array.groups = groups;
  array.types = what_.types;
  array.m = index(0);
  array.n = index(1);
  array.k = index(2);
  array.lda = index(3);
  array.ldb = index(4);
  array.ldc = index(5);
  array.a_major = what_.is_a_transposed ? Major::column : Major::row;
  array.b_major = what_.is_b_transposed ? Major::column : Major::row;
  array.alignment = static_cast<int>(what_.alignment);
  if (what_.is_bounded) {
    array.bound = {};
    for (const GemmShape& shape : what_.shapes) {
      array.bound = {std::max(array.bound.m, shape.m), std::max(array.bound.n, shape.n),
                     std::max(array.bound.k, shape.k)};
    }
  }
  return array;
}

RaggedProducts DeviceRagged::products() const {
  const auto groups = static_cast<std::int64_t>(what_.shapes.size());
  RaggedProducts products = with([&](int which) -> IndexArray {
    if (what_.door != DoorKind::array) {
      return {indices_->data(), static_cast<std::int64_t>(numbers_.m.size()), what_.index};
    }
    return {static_cast<const std::byte*>(indices_->data()) + 8 * groups * which, groups,
            what_.index};
  });
  if (auto* const array = std::get_if<PointerArray>(&products)) {
    auto* const first = static_cast<void**>(pointers_->data());
    array->a = first;
    array->b = first + groups;
    array->c = first + 2 * groups;
    array->bias = first + 3 * groups;
  }
  return products;
}

std::vector<Operands> DeviceRagged::list() const {
  const std::vector<std::int64_t>* const arrays[] = {&numbers_.m,   &numbers_.n,   &numbers_.k,
                                                     &numbers_.lda, &numbers_.ldb, &numbers_.ldc};
  RaggedProducts products = with([&](int which) { return index_array(*arrays[which]); });
  if (auto* const array = std::get_if<PointerArray>(&products)) {
    array->a = numbers_.a.data();
    array->b = numbers_.b.data();
    array->c = numbers_.c.data();
    array->bias = numbers_.bias.data();
  }
  return products_of(products, what_.epilogue);
}

std::string DeviceRagged::verdict(std::int64_t contributors) const {
  const auto* const c = static_cast<const std::byte*>(c_->view().data);
  const auto* const before = static_cast<const std::byte*>(c_before_->view().data);
  std::vector<JudgeRequest> requests;
  std::vector<MatrixView> parts;
  for (const Operands& product : list()) {
    parts.push_back(product.c);
    requests.push_back({.operands = product,
                        .c_before = before + (static_cast<const std::byte*>(product.c.data) - c),
                        .alpha = what_.alpha,
                        .beta = what_.beta,
                        .epilogue = what_.epilogue,
                        .contributors = contributors});
  }
  std::string wrong = judge(requests);
  if (wrong.empty()) wrong = c_->changes_outside(parts, *c_before_);
  return wrong;
}

std::optional<Plan> forced_ragged_plan(const DeviceRagged& ragged, const KernelEntry& kernel,
                                       const Schedule& schedule) {
  const RaggedCase& what = ragged.what();
  const DeviceProducts device =
      device_products(ragged.products(), what.alpha, what.beta, what.epilogue);
  if (why_not(kernel, device.problem, device_under_test()) ||
      why_not_in_place(kernel, device.problem)) {
    return std::nullopt;
  }
  Problem problem = device.problem;
  const GroupSizes& sizes = device.groups.sizes;
  problem.groups.assign(what.shapes.size(), {sizes.bound_m, sizes.bound_n, sizes.bound_k});
  return forced_plan(problem, kernel, schedule);
}

}  // namespace tessera::test
