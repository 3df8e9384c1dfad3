// What becomes of a CPU tile whose operands are packed where reading them in place, or packing them
// in passing, may pay.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/candidates.hpp"
#include "plan/orientation.hpp"

namespace tessera {

// The largest sides of a problem, as a kernel faces them. Tiles are the kernel's view.
struct CpuVariants {
  const PlanRequest& request;
  const KernelEntry& kernel;
  FacedProduct product;

  // How deep panels of such a tile are, with k in `splits` pieces.
  int packed_block_k(std::int64_t splits) const;
  int streamed_block_k(std::int64_t splits) const;
  bool reads_rows_of_a_once() const;
  bool adds_up_few_columns_at_once() const;
  // Workers that pack B in passing rather have their own rows of A, which they read again and
  // again (plan/worker_time_cpu.cpp).
  bool may_pass_here() const;
  // The tile with the operands in place that may pay, and packed. In place comes first: where both
  // wait for the memory alike, the less work the better.
  std::vector<TileConfig> of(const TileConfig& packed, int workers, int splits) const;
  bool is_one_product() const;
  // Packed tiles are cut again.
  std::int64_t widest_block() const;
  // Of k, for each worker that divides it.
  std::int64_t least_depth_of_split() const;
  // Rows of C up to which tile registers have panels of a B that is packed ahead pass by once: one
  // group of strips (cpu/isa_amx.cpp), beside which each panel's pieces stay in the nearest cache.
  static constexpr std::int64_t kRowsBesidePacked = 128;
  // Whether at least half of B is for products with so many rows or fewer.
  bool is_for_few_rows(std::int64_t most) const;

 private:
  // Narrow register tiles, AVX2's, read B in place as streams for few rows, and packed for more:
  // f32 with 8 rows 34 GFLOP/s against 32, with 12 42 against 50 (Zen 3). Packed they are
  // multiplied four steps at a time, so that of what stays in L2 only products that go the short
  // way are read in place.
  static constexpr std::int64_t kMostRowsOfNarrow = 8;
  // How deep a k-block with a B in place is.
  static constexpr std::int64_t kDepthBytesInPlace = 1024;
  // And where both operands stay near (core/near_rule.hpp): a panel whose vectors are split over
  // two lines had better find room in the nearest cache. Emerald Rapids, one thread, 2026-11, the
  // time with half as much over the time so: f32 1.01 to 1.02, f64 1.00 to 1.01; off lines with 512
  // of f32 over the time with 128 44×33×1000 0.99, A across 1.18, 31×50×1000 1.05, 1.10, 20×90×1000
  // 1.18, 1.05, f64 with 240 over 104 31×50×700 1.08, 20×41×700 1.15.
  static constexpr std::int64_t kDepthBytesNear = 2048;
  static constexpr std::int64_t kDepthNearOffLines = 128;

  int most_workers() const;
  int block_k_beside_packed(std::int64_t splits) const;
  int given_block_k() const;
  bool is_passed_once() const;
  std::vector<TileConfig> beside_packed(const TileConfig& packed, int workers) const;
  std::int64_t rows_of(const TileConfig& tile) const;
  std::int64_t cols_of(const TileConfig& tile) const;
  double panel_bytes(std::int64_t count) const;
  bool is_small() const;
  bool goes_over_k_once() const;
  std::int64_t dot_bytes(int workers) const;
  bool makes_tall_tiles(const TileConfig& packed) const;
  TileConfig tall(TileConfig tile, int splits) const;
  bool suits_dots() const;
  bool may_make_dots_of_many_rows() const;
  TileConfig as_dots(TileConfig tile, int workers, int splits) const;
  bool reads_near_here(const TileConfig& packed, int workers, int splits) const;
  TileConfig near(TileConfig tile, int splits) const;
  bool suits_passing_here(const TileConfig& packed, int workers) const;
  bool goes_short_way(const TileConfig& packed, int workers) const;
  TileConfig in_one_pass(TileConfig tile) const;
  bool copies_widened(const TileConfig& packed, int workers, int splits) const;
  bool packs_by_pieces_here(const TileConfig& packed, int workers, int splits) const;
  bool deals_rows_of_pieces(const TileConfig& packed, int workers) const;
  bool goes_short_way_of_narrow(const TileConfig& packed, int workers) const;
  bool reads_few_columns_in_place(const TileConfig& packed) const;
  int depth_beside_few_columns(std::int64_t cols, std::int64_t splits) const;
  bool reads_a_beside_panels(const TileConfig& packed, int workers) const;
  bool strides_beside_panels(const TileConfig& packed) const;
  bool goes_along_rows_here(const TileConfig& packed, int workers) const;
  bool packs_short_depth(const TileConfig& packed) const;
  bool fills_a_panel(const TileConfig& packed) const;
  bool reads_in_registers() const;
  std::int64_t most_rows_in_registers() const;
  bool deals_columns(const TileConfig& packed, int workers, int splits) const;
  double bytes_of_part_of_b(int workers) const;
  bool parts_of_b_stay(int workers) const;
  bool columns_stay(const TileConfig& packed, int workers, int splits) const;
  bool may_split() const;
  bool packs_what_stays(const TileConfig& packed, int workers, int splits) const;
  bool deals_few_rows(const TileConfig& tile, int workers) const;
  TileConfig in_passing(TileConfig tile, int workers, int splits) const;
  bool may_read_whole_rows() const;
  bool b_stays(int parts = 1) const;
  int parts_of_b(const TileConfig& tile, int workers) const;
  bool rows_of_b_collide() const;
  bool reads_far_rows() const;
  double elements_of_b(const ShapeRun& run) const;
  bool walks_wide_tiles(int parts = 1) const;
  bool walks_narrow_wide_tiles() const;
  bool splits_rather(const TileConfig& tile, int workers, int splits) const;
  int whole_row_block_k(int splits) const;
  TileConfig in_place(TileConfig tile, bool a_too, int workers, int splits) const;
  bool is_in_halves() const;
  bool converts_beside_halves() const;
  bool converts_whole_rows() const;
  bool drives_out_deep_columns() const;
  bool packs_few_rows_that_collide() const;
  bool cuts_far_rows_that_collide(const TileConfig& tile, int workers) const;
  bool b_is_far() const;
  bool are_shares(const TileConfig& tile, int workers, int splits) const;
  bool is_part_of_short_way(const TileConfig& tile, int workers, int splits) const;
  TileConfig b_in_place(const TileConfig& packed, int workers, int splits) const;
};

}  // namespace tessera
