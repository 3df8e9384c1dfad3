// What ragged calls refuse: each error names the argument and says what to do, and nothing has been
// written by then. And that sizes, which change with every call, do not fill the cache of plans.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/grouped.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

struct Refusal {
  ErrorCode code = ErrorCode::interrupted;
  std::string message = "no error";
};

Refusal refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

// 3 groups over 12 rows, N = 5, K = 4.
struct Experts {
  std::vector<float> a = std::vector<float>(12 * 4, 1.0f);
  std::vector<float> b = std::vector<float>(3 * 4 * 5, 1.0f);
  std::vector<float> c = std::vector<float>(12 * 5, 7.0f);
  std::vector<float> wide_c = std::vector<float>(3 * 12 * 5, 7.0f);
  std::vector<float> bias = std::vector<float>(3 * 5, 1.0f);
  std::vector<std::int64_t> offsets = {0, 3, 3, 12};
  std::vector<std::int32_t> counts = {4, 0, 2};

  RaggedRows rows() {
    return {row_major(std::as_const(a).data(), 12, 4), index_array(offsets),
            batch(std::as_const(b).data(), 3, 4, 5), row_major(c.data(), 12, 5),
            row_major(std::as_const(bias).data(), 3, 5)};
  }
  MaskedRows masked() {
    return {batch(std::as_const(a).data(), 3, 4, 4),
            index_array(counts),
            batch(std::as_const(b).data(), 3, 4, 5),
            batch(c.data(), 3, 4, 5),
            {}};
  }
  // A is 4×12, B 12×5: the rows' own gradient.
  RaggedK depth() {
    return {row_major(std::as_const(a).data(), 12, 4).transposed(),
            row_major(std::as_const(c).data(), 12, 5),
            index_array(offsets),
            batch(wide_c.data(), 3, 4, 5),
            {}};
  }

  // That `call` fails with the code, says all of `words`, and leaves C as it was.
  void refuses(ErrorCode code, const std::vector<std::string>& words,
               const std::function<void()>& call) {
    const Refusal refusal = refusal_of(call);
    EXPECT_EQ(static_cast<int>(refusal.code), static_cast<int>(code)) << refusal.message;
    for (const std::string& word : words) {
      EXPECT_NE(refusal.message.find(word), std::string::npos)
          << "\"" << word << "\" in \"" << refusal.message << "\"";
    }
    EXPECT_EQ(c, std::vector<float>(12 * 5, 7.0f));
    EXPECT_EQ(wide_c, std::vector<float>(3 * 12 * 5, 7.0f));
  }
  void refuses_sizes(const std::vector<std::string>& words, const RaggedProducts& products) {
    refuses(ErrorCode::invalid_argument, words, [&] { ragged_gemm(1, products, 0); });
  }
};

TEST(RaggedErrors, OffsetsThatFallOrLeaveTheirLength) {
  Experts e;
  e.offsets = {-1, 3, 3, 12};
  e.refuses_sizes({"offsets[0]", "at least 0", "given -1", "running sum"}, e.rows());
  e.offsets = {0, 4, 3, 12};
  e.refuses_sizes({"offsets[2]", "at least where the group begins, 4", "given 3"}, e.rows());
  e.offsets = {0, 3, 3, 13};
  e.refuses_sizes({"offsets[3]", "at most the length that is divided, 12", "given 13"}, e.rows());
  e.refuses_sizes({"offsets[3]", "12", "given 13"}, e.depth());
  e.offsets = {3, 2, 12};  // ends
  e.refuses_sizes({"offsets[1]", "begins, 3", "given 2"}, e.rows());
  e.offsets = {-2, 2, 12};
  e.refuses_sizes({"offsets[0]", "begins, 0", "given -2"}, e.rows());
  e.offsets = {0, 12};
  e.refuses_sizes({"offsets", "have 4 numbers, or the 3 ends", "given 2"}, e.rows());
}

TEST(RaggedErrors, CountsBeyondTheCapacity) {
  Experts e;
  e.counts = {4, 5, 0};
  e.refuses_sizes({"counts[1]", "between 0 and 4", "given 5"}, e.masked());
  e.counts = {4, 0, -1};
  e.refuses_sizes({"counts[2]", "given -1"}, e.masked());
  e.counts = {4, 0};
  e.refuses_sizes({"counts", "one number per group, 3", "given 2"}, e.masked());
}

TEST(RaggedErrors, SizesWithoutUsableMemory) {
  Experts e;
  RaggedRows rows = e.rows();
  rows.offsets.data = nullptr;
  e.refuses_sizes({"offsets", "null pointer"}, rows);
  std::vector<std::byte> raw(64);
  rows.offsets.data = raw.data() + 1;
  e.refuses_sizes({"offsets", "aligned", "1 bytes past"}, rows);
}

TEST(RaggedErrors, ViewsThatDoNotGoTogether) {
  Experts e;
  RaggedRows rows = e.rows();
  rows.a.rows = 11;
  e.refuses_sizes({"A", "as many rows as C, 12", "given 11"}, rows);
  rows = e.rows();
  rows.b.rows = 3;
  e.refuses_sizes({"B of group 0", "as many rows as A has columns, 4"}, rows);
  rows = e.rows();
  rows.b.cols = 4;
  e.refuses_sizes({"B of group 0", "as many columns as C, 5"}, rows);
  rows = e.rows();
  rows.b.group_stride = -1;
  e.refuses_sizes({"B", "group stride of at least 0", "given -1"}, rows);
  rows = e.rows();
  rows.b.groups = -1;
  e.refuses_sizes({"groups", "given -1"}, rows);
  rows = e.rows();
  rows.c.data = nullptr;
  e.refuses_sizes({"C of group 0", "null pointer"}, rows);
  rows = e.rows();
  rows.a.data = e.c.data();  // shares C's memory
  e.refuses_sizes({"share no memory"}, rows);
  rows = e.rows();
  rows.b.type = ElementType::f64;
  e.refuses_sizes({"types"}, rows);

  MaskedRows masked = e.masked();
  masked.c.groups = 2;
  e.refuses_sizes({"C", "one matrix per group, 3", "given 2"}, masked);
  masked = e.masked();
  masked.c.group_stride = 0;
  e.refuses_sizes({"C of group", "share no memory"}, masked);
  RaggedK depth = e.depth();
  depth.b.rows = 11;
  e.refuses_sizes({"B", "as many rows as A has columns, 12", "given 11"}, depth);
}

TEST(RaggedErrors, BiasesThatDoNotFit) {
  Experts e;
  const auto refuses = [&](const std::vector<std::string>& words, const RaggedProducts& products,
                           BiasAxis axis) {
    e.refuses(ErrorCode::invalid_argument, words, [&] {
      ragged_gemm(1, products, 0, {axis, Activation::none});
    });
  };
  refuses({"epilogue.bias", "none or column", "given row"}, e.rows(), BiasAxis::row);
  refuses({"bias", "one row per group, 3", "given 0"}, e.masked(), BiasAxis::column);
  RaggedRows rows = e.rows();
  rows.bias.cols = 4;
  refuses({"bias", "5", "given 4"}, rows, BiasAxis::column);
  rows = e.rows();
  rows.bias.row_stride = -5;
  refuses({"bias", "group stride of at least 0", "given -5"}, rows, BiasAxis::column);
  rows.bias.row_stride = std::int64_t{1} << 62;
  refuses({"bias", "within 2^59 elements"}, rows, BiasAxis::column);
  EXPECT_NO_THROW(make_ragged_plan(rows, 1, 0, {}, host_machine())) << "no bias is asked for";
  rows = e.rows();
  rows.bias.data = reinterpret_cast<const std::byte*>(e.bias.data()) + 2;
  refuses({"bias:", "aligned to its element type's 4 bytes", "2 bytes past"}, rows,
          BiasAxis::column);
}

// Every number is one that no memory can have, and most would overflow on the way to an address.
TEST(RaggedErrors, ViewsThatReachTooFar) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  constexpr const char* kReach = "last element within 2^59 elements";
  Experts e;
  e.offsets = {0, 1, 1, 2};  // groups of a row, whose row stride is never used
  RaggedRows rows = e.rows();
  rows.a.row_stride = kFar;
  e.refuses_sizes({"A", kReach, std::to_string(kFar)}, rows);
  rows = e.rows();
  rows.c.row_stride = kFar;
  e.refuses_sizes({"C", kReach}, rows);
  rows = e.rows();
  rows.a.row_stride = -4;
  e.refuses_sizes({"A", "strides of at least 1", "row stride -4"}, rows);
  rows = e.rows();
  rows.b.group_stride = kFar;
  e.refuses_sizes({"B", kReach, "3 times 4×5 with group stride " + std::to_string(kFar)}, rows);
  rows.b.cols = rows.c.cols = 0;  // nothing to compute is no excuse
  e.refuses_sizes({"B", kReach}, rows);
  rows = e.rows();
  rows.a.rows = rows.c.rows = kFar;
  e.refuses_sizes({"A", "sizes from 0 to", std::to_string(kFar)}, rows);

  MaskedRows masked = e.masked();
  masked.a.group_stride = kFar;
  e.refuses_sizes({"A", kReach}, masked);
  masked = e.masked();
  masked.c.group_stride = kFar;
  e.refuses_sizes({"C", kReach}, masked);
  RaggedK depth = e.depth();
  depth.a.col_stride = kFar;
  e.refuses_sizes({"A", kReach}, depth);
  depth = e.depth();
  depth.c.group_stride = kFar;
  e.refuses_sizes({"C", kReach}, depth);

  const ConstBatchView weights = batch(std::as_const(e.b).data(), 3, 4, 5);
  ConstBatchView up = weights;
  up.group_stride = kFar;
  e.refuses(ErrorCode::invalid_argument, {"up", kReach}, [&] { gated_gemm(e.rows(), up); });
}

TEST(RaggedErrors, PointerArraysThatAreNotThere) {
  Experts e;
  std::vector<std::int32_t> one = {1, 1};
  const IndexArray ones = index_array(one);
  PointerArray array;
  array.groups = 2;
  for (IndexArray* list : {&array.m, &array.n, &array.k, &array.lda, &array.ldb, &array.ldc}) {
    *list = ones;
  }
  e.refuses_sizes({"pointers", "null pointer"}, array);
  array.a_major = Major::general;
  e.refuses_sizes({"major", "row or column"}, array);
  array.a_major = Major::row;
  array.b_major = Major::packed;
  e.refuses_sizes({"major", "row or column", "packed"}, array);
  array.b_major = Major::row;
  array.bound = {0, 1, 1};
  e.refuses_sizes({"group 0", "bound, 0×1×1", "given 1×1×1"}, array);
  one[1] = -3;
  array.bound.m = 5;
  e.refuses_sizes({"group 1", "at least 0", "given -3×-3×-3"}, array);
  array.k = {};
  e.refuses_sizes({"k", "one number per group, 2", "given 0"}, array);
}

TEST(RaggedErrors, PointersIntoTheMidstOfAnElement) {
  Experts e;
  const std::vector<std::int64_t> sizes = {2, 2};
  const std::vector<const void*> a = {e.a.data(), e.a.data() + 4};
  const std::vector<const void*> b = {e.b.data(), e.b.data()};
  const std::vector<void*> c = {e.c.data(), e.c.data() + 4};
  const std::vector<const void*> bias = {e.bias.data(), e.bias.data()};
  PointerArray array;
  array.groups = 2;
  array.m = array.n = array.k = array.lda = array.ldb = array.ldc = index_array(sizes);
  array.a = a.data();
  array.b = b.data();
  array.c = c.data();
  array.bias = bias.data();
  array.bound = {2, 2, 2};
  const Epilogue epilogue{BiasAxis::column, Activation::none};
  const Plan plan = make_ragged_plan(array, 1, 0, epilogue, host_machine());
  const auto refuses = [&](const char* name, const PointerArray& wrong) {
    const std::vector<std::string> words = {std::string(name) + " of group 1",
                                            "aligned to its element type's 4 bytes", "3 bytes past",
                                            "copy it to aligned memory"};
    e.refuses(ErrorCode::invalid_argument, words, [&] { ragged_gemm(1, wrong, 0, epilogue); });
    e.refuses(ErrorCode::invalid_argument, words, [&] { run_ragged(plan, wrong); });
  };
  const auto second_astray = [](auto pointers) {
    auto& second = pointers.back();
    second = reinterpret_cast<std::remove_reference_t<decltype(second)>>(
        reinterpret_cast<std::uintptr_t>(second) + 3);
    return pointers;
  };
  const auto expect_refused = [&](const char* name, auto PointerArray::*member, const auto& right) {
    const auto pointers = second_astray(right);
    PointerArray wrong = array;
    wrong.*member = pointers.data();
    refuses(name, wrong);
  };
  expect_refused("A", &PointerArray::a, a);
  expect_refused("B", &PointerArray::b, b);
  expect_refused("C", &PointerArray::c, c);
  expect_refused("bias", &PointerArray::bias, bias);
  EXPECT_NO_THROW(ragged_gemm(1, array, 0, epilogue));
}

TEST(RaggedErrors, PlansForOtherProducts) {
  Experts e;
  const Plan plan = make_ragged_plan(e.rows(), 1, 0, {}, host_machine());
  const auto refuses = [&](const std::vector<std::string>& words, const RaggedProducts& products) {
    e.refuses(ErrorCode::invalid_argument, words, [&] { run_ragged(plan, products); });
  };
  RaggedRows rows = e.rows();
  rows.a.cols = rows.b.rows = 3;
  refuses({"operands of group 0", "same for every group", "plan again"}, rows);
  RaggedK depth = e.depth();
  depth.a.rows = depth.c.rows = 3;
  refuses({"operands of group 0"}, depth);
  rows = e.rows();
  rows.b.groups = 2;
  rows.offsets.size = 3;
  refuses({"groups", "number 3", "given 2"}, rows);
}

TEST(Ragged, NoGroupsAreNoWork) {
  Experts e;
  RaggedRows rows = e.rows();
  rows.b.groups = 0;
  rows.offsets = {};
  ragged_gemm(1, rows, 0);
  rows.offsets = index_array(std::span(e.offsets).first(1));
  ragged_gemm(1, rows, 0);
  ragged_gemm(1, StridedBatch{}, 0);
  EXPECT_EQ(e.c, std::vector<float>(12 * 5, 7.0f));
}

TEST(Ragged, PlansForFoundSizesStayWithTheThread) {
  Experts e;
  std::vector<std::string> lines;
  set_log([&](std::string_view line) { lines.emplace_back(line); });
  const auto origin = [&] {
    ragged_gemm(1, e.rows(), 0);
    return lines.empty() ? "" : lines.back();
  };
  e.offsets = {1, 2, 9, 11};
  EXPECT_NE(origin().find("made"), std::string::npos) << lines.back();
  EXPECT_NE(origin().find("this thread's cache"), std::string::npos) << lines.back();
  // Had it gone to the cache that all threads share, it would be found there.
  std::thread([&] { EXPECT_NE(origin().find("made"), std::string::npos) << lines.back(); }).join();
  EXPECT_NE(lines.back().find("ragged_gemm"), std::string::npos);
  set_log({});
}

}  // namespace
}  // namespace tessera
