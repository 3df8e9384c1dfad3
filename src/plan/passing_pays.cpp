#include "plan/passing_pays.hpp"

#include "core/in_place_rule.hpp"
#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"

namespace tessera {
namespace {

// So deep a panel of 48 columns of f32 fills the nearest cache; twice as deep ones come from L2,
// and pay where C's sums do not stay in there and are read and written again for every depth, as
// long as the panel's rows of B lie in few enough pages. Emerald Rapids, one thread, 2026-11, per
// cent of the peak in f32 with 256 and 512 of k: 1000³ 91.6 and 93.3, 3000×500×1000 89.2 and 90.6,
// 1000×1500×800 88.9 and 91.5, 512³ 96.0 and 96.3, 1000×2000×2000 90.4 and 89.5, 500×3000×3000 89.0
// and 88.0; with rows of B a multiple of 4 KB apart 1024³ 91.1 and 89.6, 512×2048×2048 90.4 and
// 88.2. Zen 5, one thread, the best of 11 turns with 256, 384 and 512: 128×128×32768 92.9, 92.6,
// 92.6; 192×192×16384 92.7, 92.4, 92.2; 384×384×3000 94.7, 94.8, 95.1; 128×5001×3001 92.5, 92.6,
// 92.4.
constexpr int kDepth = 256;
constexpr int kDepthFar = 512;
constexpr std::int64_t kFarRowBytes = 6 << 10;

// Packing beforehand takes time in proportion to 1/m + 1/n of the multiplying, and what lies in
// huge pages afterwards is fetched with less ado: this is where it pays, as m·n/(m + n). Emerald
// Rapids, one thread, f32, in passing and packed: 256×4096×4096 (241) 89.0 and 77.1, 512×3072×1024
// (439) 90.1 and 85.8, 3000×500×1000 (429) 90.6 and 86.8, 1024³ (512) 91.1 and 89.8, 1100³ (550)
// 89.9 and 90.7, 1200³ (600) 91.6 and 90.9, 1000×2000×2000 (667) 90.4 and 89.8, 1500³ (750) 88.6
// and 90.0, 2048×2048×512 (1024) 89.0 and 90.6, 2000³ (1000) 89.7 and 92.6. Of the product, not of
// a worker's part: 16 threads (Emerald Rapids, others beside, best of some) take 138 and 120 ms for
// 4096³, 14.4 and 14.0 for 2048³, but 17.1 and 23.2 for 512×4096×4096 and 1.58 and 1.49 for 1000³,
// in the median 2.04 and 2.20. In one pass over k it never does: 2000×2000×128 6.7 and 7.8 ms.
constexpr double kMost = 650;
// Rows of B whole pages apart come in slowly, and the sooner B is packed beforehand, for which
// panels may be deeper, too. One thread, 2026-11, the time in passing over the time packed: Granite
// Rapids f64 1024³ (512) 1.07 to 1.10, 768×1024×1024 (439) 1.07, 512×3072×1024 1.12, 512×2048×2048
// (410) 1.06, 2048×512×512 (410) 1.02 to 1.06, 1024×512×1024 (341) 1.02, f32 1.05, 1.06, 0.99,
// 0.98, 1.00, 640×1024×1024 (394) 1.01, 512×1024×1024 (341) 0.98; two threads
// f64 1.10, 1.04, 1.10, 1.18, 1.01, f32 1.00, 1.05, 1.03, 1.06, 1.01. Emerald Rapids, busy,
// f64 1.03, 1.03, 1.04, 1.26, 0.98, four threads 1.08, 1.03, 0.98, 0.85, 1.00, f32 0.98, 1.00,
// 0.96, 0.99, 1.01. Rows that do not collide: Granite Rapids f32 1000³ 0.97, 1000×1000×2000 0.93,
// f64 1000³ 0.96.
constexpr double kMostOfColliding = 500;
constexpr double kMostOfColliding64 = 380;

// Since threads share tiles by columns that are packed in passing (cpu/shared_units.hpp), many of
// them pack less beforehand. f32, others beside, 2026-11, ten products with m·n/(m + n) of 512 to
// 1024, the time packed over the time in passing: Emerald Rapids, 16 threads 1.06, 1.03, A
// transposed 1.00, 8 threads 1.02; but 4096×4096×1024 (2048) 0.98, 0.92; 4 threads 1024³ (512) 1.12
// to 1.18, 1000×3000×2000 (750) 0.92, 1800³ (900) 0.85, 2048³ (1024) 0.99 to 1.12; Granite Rapids,
// two threads, 1024³ 1.03 to 1.04, 2048×1024×1024 (683) 0.98, 1500³ 0.98, 2048³ 0.98.
constexpr double kMostOfMany = 1024;
constexpr int kManyWorkers = 8;
constexpr double kMostOfCollidingOfFew = 520;

double most_in_passing(const GemmShape& shape, std::int64_t element, int workers) {
  const bool collides = rows_collide(shape.n * element);
  if (element > 4) return collides ? kMostOfColliding64 : kMost;
  if (workers >= kManyWorkers) return kMostOfMany;
  if (!collides) return kMost;
  return workers > 1 ? kMostOfCollidingOfFew : kMostOfColliding;
}

// With less L2 than this B is packed in passing again for every piece of A that takes a quarter of
// it (cpu/blocking.cpp): twice at most, also where workers have fewer rows each. Zen 5, f32, one
// thread, 2026-11, the time packed or in place over the time in passing, medians of five turns:
// 64×1000×1000 1.09, 140×1326×779 1.06, 256×4096×4096 1.13, 512×3072×1024 1.05, 200³ 1.07, 512³
// 1.00, 470×716×864 1.00, but 768×1000×1000 0.985, 1000³ 0.98, 1500³ 0.965, 1556×350×571 0.97,
// 1086×59×1472 0.94; f64 96×1000×1000 on two threads 1.01, 256×2048×2048 1.07, 384×384×3000 0.96,
// 833×129×457 0.965; two threads f32 640³ and 1000³ 0.955. Fewer rows had better not share the
// wait, but read B in place by wide tiles (cpu/wide_tiles.hpp): 14×124×1355 0.92, 16×220×894 0.80,
// 16×255×4000 0.76, 32×192×1000 0.87, 45×250×2000 0.92, 48×96×1000 0.94, f64 16×255×4000 0.79.
bool is_worth_packing(const GemmShape& shape, std::int64_t element, int workers,
                      const Machine& machine) {
  const double area = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  if (shape.k <= deepest_passing(kDepth)) return false;
  if (has_much_room(machine)) {
    return area > most_in_passing(shape, element, workers) * static_cast<double>(shape.m + shape.n);
  }
  return 2 * shape.m * kDepth * element > machine.scratchpad_bytes;
}

// No more than these read whole rows of colliding ones in place: Emerald Rapids, 2026-11, the time
// so over the time with a part each, packed in passing, 16 and 8 threads, 16×1024×4096 in f32 0.88
// to 0.99 and 0.82, f64 0.88.
constexpr std::int64_t kRowsOfCollidingParts = 16;

}  // namespace

// One or two threads do not draw all that the last cache gives, and of a large part of it not what
// a panel's fetching needs, the less the more others draw. 2026-11, the time with B in place (or
// packed) over the time in passing: Granite Rapids, one thread and two, f32 24×1000×3000 1.05,
// 0.98, 24×3000×1500 0.96, 0.98, 28×1500×1500 1.07, 1.15, 28×5001×3001 1.06, 1.11,
// 32×2000×2000 1.05, 1.03, 32×4096×4096 0.87 to 1.10, 0.96 to 1.10, 32×11008×1000 1.33, 1.47,
// 40×3000×1500 1.14, 1.16, 48×4096×4096 0.95 to 1.13, 1.04 to 1.17; f64 28×1500×1500 1.03, 1.07,
// 32×4000×1000 1.10, 1.10, 32×11008×1000 1.14, 1.28, and of a quarter of the last cache
// 32×4000×4000 0.84, 0.92, 32×4096×4096 0.80, 0.88, 48×4096×4096 0.93, 0.97. Emerald Rapids, others
// beside, with one thread, 4, 8 and 16 f32 28×5001×3001 0.86, 1.31, 1.30, 1.43,
// 40×5001×3001 1.01, 1.27, 1.30, 1.27, 32×4096×4096 0.74, 1.09, 1.06, 1.24, 48×4096×4096
// 0.83, 1.17, 1.26, 1.31, 36×11008×1000 1.31, 1.18, 1.46, 1.56.
// Groups' products were not measured with so few.
std::int64_t least_rows_of_passing(double b_bytes, int workers, bool is_only_product,
                                   const Machine& machine) {
  constexpr std::int64_t kLeastRows = 28;
  constexpr std::int64_t kLeastRowsElsewhere = 49;
  constexpr int kFewWorkers = 2;
  constexpr double kPartOfCache = 7.5;
  const bool is_far = kPartOfCache * b_bytes >= static_cast<double>(machine.cache_bytes);
  return !is_only_product || (workers <= kFewWorkers && is_far) ? kLeastRowsElsewhere : kLeastRows;
}

// Emerald Rapids, milliseconds in passing and with B in place: 48×4096×4096 13.2 and 12.0,
// 48×5001×3001 10.7 and 10.7, 64×4096×4096 15.7 and 15.2, 64×5001×3001 13.2 and 15.0, 96×4096×4096
// 22.2 and 25.1.
bool passing_pays(const GemmShape& shape, const WorkersShare& share, std::int64_t element,
                  const Machine& machine) {
  const std::int64_t row_bytes = shape.n * element;
  const double b_bytes = static_cast<double>(shape.k) * static_cast<double>(row_bytes);
  const auto l2 = static_cast<double>(machine.scratchpad_bytes);
  // Rows of B whole pages apart are not read by more wide tiles (cpu/steps.cpp).
  const bool collides = rows_collide(row_bytes);
  if (!has_much_room(machine)) {
    return share.rows > most_rows_of_wide_tiles(b_bytes <= l2 && !collides) &&
           !is_worth_packing(shape, element, share.workers, machine);
  }
  const bool is_dealt = !collides || share.rows > kRowsOfCollidingParts;
  const bool stays = b_bytes <= (is_dealt ? share.parts_of_b : 1) * l2;
  const bool has_rows =
      stays ||
      share.rows >= least_rows_of_passing(b_bytes, share.workers, share.is_only_product, machine);
  return has_rows && !is_worth_packing(shape, element, share.workers, machine);
}

int passing_depth(std::int64_t rows, std::int64_t cols, std::int64_t n, bool is_dealt,
                  std::int64_t element, const Machine& machine) {
  const std::int64_t row_bytes = n * element;
  const bool is_large =
      2 * rows * cols * element > machine.scratchpad_bytes && row_bytes <= kFarRowBytes;
  const bool is_few = is_dealt && rows <= kFewRowsInPassing;
  return (is_large || is_few) && !rows_collide(row_bytes) ? kDepthFar : kDepth;
}

}  // namespace tessera
