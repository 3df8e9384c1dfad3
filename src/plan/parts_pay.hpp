// Where f16 in two parts of bf16, which tile registers multiply, is faster than f16 widened to f32,
// and f32 in three parts, and f64 by residues, than as they are.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/tile_registers_rule.hpp"
#include "tessera/element_type.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// Four products of parts take a quarter of the time that vectors do, but each element of A and B is
// split first, and what is split of A serves C's columns alone, and of B its rows. So a share of
// the time of each step of k is lost, the more the fewer rows and columns there are, and more to
// what fills up tile registers of 16 rows and 32 of k; columns vectors round up to 16 themselves.
// The rest must make up for a C that comes from tile registers. Vectors lose time to transpose a B
// along k, and parts an A across k. Where nothing is left no k is long enough: beside a B in rows
// for 27 rows and fewer, and for 33 to 35.
//
// Emerald Rapids, one thread, 2026-11-29, 500 products (30 to 300 a side, 1 to 3000, awkward ones,
// 12 to 48 rows or columns beside 64 to 4096, and multiples of 16 up to 256), each in rows, with B
// along k and with A across, while nobody was on the core's other hardware thread, and beside a
// guest with which tile registers had 0.4 of their speed and vectors 0.6. The time of what is
// chosen over the faster one's, without and with that guest: in rows 1.02 and 1.03, B along k 1.02
// and 1.03, A across 1.02 and 1.04. The rule before, a least k for each of three sizes of a side,
// after a Granite Rapids: 1.03 and 1.07, 1.03 and 1.05, 1.04 and 1.11. A large C does not make a
// shorter k pay: 2000×2000 with 4, 8, 12 and 16 of it 0.5, 0.6, 0.65 and 0.8 of the vectors' speed.
// Since vectors multiply small products from widened copies (plan/cpu_in_place.cpp), 132 products
// of 30 to 300 a side and awkward ones that parts are chosen for, up to 2 million multiply-adds,
// the same machine and times, without and with the guest: in rows 1.010 and 1.13, B along k 1.028
// and 1.09, A across 1.031 and 1.13; with 24 left of k in place of 16 1.034 and 1.11, 1.025 and
// 1.07, 1.032 and 1.09. Granite Rapids, a core to itself, 2026-11-30, 258 products of the same
// kinds and of a short k: with 16 1.030, 1.023, 1.032, on two threads 1.027, 1.023, 1.024, with 24
// 1.047, 1.040, 1.050, 1.038, 1.035, 1.037; 8 lost beside rows and columns would be best there,
// 1.016, 1.023, 1.011.
inline constexpr double kLostBesideRows = 22;
inline constexpr double kLostBesideRowsAlong = 8;  // of B along k
inline constexpr double kLostBesideColumns = 8;
inline constexpr double kLostBesideColumnsAcross = 18;  // of A across k
inline constexpr double kLeastDepthOfParts = 16;
inline constexpr double kRowsOfRegister = 16;
inline constexpr double kDepthOfRegister = 32;

// Vectors wait for a B in rows that is far, and up to 16 rows fill one tile register: the same
// machine, with and without the guest, 16 rows beside 2048×2048 and 4096×4096 0.81 to 0.91 of the
// time by vectors, 13 rows 0.81 to 0.90, 12 rows 0.88 to 0.96, 17 rows 1.2 to 1.3; of 1000×1000,
// 2 MB, 1.1. Columns of a B along k that is far cost parts more: beside 4096×4096 13 rows took 1.1
// to 1.6 times as long as by vectors, 16 1.03 to 1.35, 24 1.3 to 1.5, 32 0.85 to 1.25, beside
// 2048×2048 16 rows 0.6 to 0.85, 32 0.8 to 0.95. Two threads likewise.
inline constexpr double kLeastRowsBesideFarRows = 13;
inline constexpr double kScratchpadsOfFarRows = 4;
inline constexpr double kLeastSideOfFarB = 256;
inline constexpr double kRowsBesideFarColumns = 24;
inline constexpr double kScratchpadsOfFarColumns = 8;

// Several workers that share a product have so little each, by whole tile registers, that vectors'
// finer parts win. The 16 cores that host an H200 (Emerald Rapids), 2026-11-30, the same 258
// products and 60 wide, tall and large ones: the time of what is chosen over the faster one's on 16
// threads in rows 1.007 and 1.043, without this 1.080 and 1.090, B along k 1.028 and 1.048 (1.058,
// 1.040), A across 1.006 and 1.034 (1.081, 1.087); the 258 on four threads 1.013, 1.030 and 1.010
// (1.046, 1.048, 1.058). Twice or half as much for each worker is within 0.015. More threads were
// not measured; two of a Granite Rapids gain by parts from 0.3 million on. Up to 64³ one worker has
// all of it.
inline constexpr int kWorkersThatShare = 3;
inline constexpr int kMostWorkersMeasured = 16;
inline constexpr double kLeastWorkOfEach = 4e6;  // multiply-adds
inline constexpr double kLeastWorkShared = 64.0 * 64.0 * 64.0;

// A product whose C lies in rows, or the transpose of one whose C does not; of a group the mean of
// M, and the largest N and K.
struct SplitProduct {
  double rows = 0;
  double columns = 0;
  double k = 0;
  bool a_lies_along_k = true;
  bool b_lies_along_k = false;
  bool b_is_packed = false;  // ahead, so that splitting it is not counted
  bool is_alone = true;      // or all products are of one shape
  int workers = 1;           // that share it; products of a group are dealt whole
};

// f32 in three parts takes about half of the time that vectors do, and loses the same way. Granite
// Rapids, a core to itself, 2026-11-30, 466 products (30 to 300 a side, 1 to 3000, few rows, few
// columns, a short k, 300 to 2500 a side, squares), in rows, with B along k and with A across, one
// thread and two: the time of what is chosen over the faster one's 1.007, 1.008, 1.006, 1.006,
// 1.008 and 1.004, of vectors alone 1.058, 1.061, 1.062, 1.047, 1.053 and 1.054; a fifth more or
// less lost beside rows or columns is within 0.002. 230 others, of which parts are chosen for 47
// and 42: the time of vectors over that of parts 1.38, 1.40, 1.48, 1.35, 1.39 and 1.49, 0.84 at
// least. Two workers split twice as much of one operand. With a k of 20 to 46 and a large C parts
// took 0.9 to 2.2 times as long. More workers were not measured on a machine that splits f32: they
// are asked for as much work as of f16.
inline constexpr double kLostBesideRowsOfThree = 50;
inline constexpr double kLostBesideColumnsOfThree = 50;
inline constexpr double kLostOfWhatFillsUp = 0.75;
inline constexpr double kLeastDepthLeftOfThree = 12;
inline constexpr double kLeastDepthOfThree = 48;

// Beside a B that is packed ahead, whose parts take 4 bytes of f16, as widened elements do, and 6
// of f32: it is what few rows wait for. Granite Rapids, one thread, 2026-11-30, the time by vectors
// over the time in parts, n×k of 4096×4096, 1024×1024 and 3072×768: f16 4 rows 0.87, 0.99, 0.76,
// 8 0.96, 0.95, 1.01, 12 1.03, 0.93, 1.05, 16 1.25, 1.25, 1.29; f32 16 0.89, 0.79, 0.95, 24 0.91,
// 0.86, 0.96, 32 1.09, 1.19, 1.17, 48 1.11, 1.21, 1.14.
inline constexpr double kLeastRowsBesidePacked = 12;
inline constexpr double kLeastRowsOfThreeBesidePacked = 32;

// f64 by residues: products take 0.29 of the time that vectors do, and each element of A, of B, and
// of C for each block of k as long as vectors' so many multiply-adds. Granite Rapids, a core to
// itself, 2026-11-30, a fit to 82 products of 48 to 2500 a side in picoseconds: 20.9 for a
// multiply-add by vectors, 6.1 by residues in whole blocks, 1700 for an element of A, 2100 of B,
// 3600 of C in each block. Of two workers each packs all of one operand, as that says. More were
// not measured on a machine that has its cores to itself.
inline constexpr double kShareOfResidues = 0.29;
inline constexpr double kStepsOfElementOfA = 81;
inline constexpr double kStepsOfElementOfB = 100;
inline constexpr double kStepsOfSum = 165;
inline constexpr double kDepthOfChunk = 64;
inline constexpr double kMostShareOfTime = 0.99;
inline constexpr int kMostWorkersByResidues = 2;
inline constexpr double kLeastRowsOfResiduesBesidePacked = 160;

inline double filled_up(double size, double step) {
  return std::ceil(size / step) * step;
}

// Whether several workers have too little of it each.
inline bool is_shared_too_finely(const SplitProduct& product) {
  const double work = product.rows * product.columns * product.k;
  const bool is_shared = product.workers >= kWorkersThatShare && work > kLeastWorkShared;
  return is_shared && work < kLeastWorkOfEach * std::min(product.workers, kMostWorkersMeasured);
}

// Of what is lost beside one row, and beside one column, what is lost beside those that each worker
// is dealt: rows or columns, or both, whichever loses less.
inline double least_lost(const SplitProduct& product, double beside_row, double beside_column) {
  double least = 0;
  for (int across = 1; across <= product.workers; ++across) {
    if (product.workers % across != 0) continue;
    const double lost = beside_row * across / product.rows +
                        beside_column * (product.workers / across) / product.columns;
    least = across == 1 ? lost : std::min(least, lost);
  }
  return least;
}

inline bool three_parts_pay(const SplitProduct& product) {
  const double rows = product.rows;
  const double columns = product.columns;
  const double k = product.k;
  if (rows < 1 || columns < 1 || k < kLeastDepthOfThree) return false;
  if (is_shared_too_finely(product)) return false;
  if (product.b_is_packed && rows < kLeastRowsOfThreeBesidePacked) return false;
  const double beside = least_lost(product, product.b_is_packed ? 0 : kLostBesideRowsOfThree,
                                   kLostBesideColumnsOfThree);
  const double filled =
      filled_up(rows, kRowsOfRegister) / rows * (filled_up(k, kDepthOfRegister) / k) *
      (filled_up(columns, 2 * kRowsOfRegister) / filled_up(columns, kRowsOfRegister));
  const double lost = beside + kLostOfWhatFillsUp * (filled - 1);
  return k * (1 - lost) >= kLeastDepthLeftOfThree;
}

inline bool residues_pay(const SplitProduct& product) {
  const double rows = product.rows;
  const double columns = product.columns;
  const double k = product.k;
  if (rows < 1 || columns < 1 || k < 1) return false;
  if (product.b_is_packed && rows < kLeastRowsOfResiduesBesidePacked) return false;
  const double filled = filled_up(rows, 2 * kRowsOfRegister) / rows *
                        (filled_up(columns, 2 * kRowsOfRegister) / columns) *
                        (filled_up(k, kDepthOfChunk) / k);
  const double packing =
      least_lost(product, product.b_is_packed ? 0 : kStepsOfElementOfB, kStepsOfElementOfA);
  const double blocks = std::ceil(k / static_cast<double>(kMostDepthByResidues));
  return kShareOfResidues * filled + packing + kStepsOfSum * blocks / k <= kMostShareOfTime;
}

inline bool parts_pay(const SplitProduct& product, const Machine& machine) {
  const double rows = product.rows;
  const double columns = product.columns;
  const double k = product.k;
  if (rows < 1 || columns < 1 || k < 1) return false;
  if (product.b_is_packed) {
    return rows >= kLeastRowsBesidePacked && !is_shared_too_finely(product) &&
           k * (1 - kLostBesideColumns / columns) >= kLeastDepthOfParts;
  }
  // Of all workers, since they share B.
  const double scratchpads = static_cast<double>(machine.scratchpad_bytes) * machine.workers;
  const double b_bytes = columns * k * size_of(ElementType::f16);
  const auto is_far = [&](double times) {
    return scratchpads > 0 && product.is_alone && std::min(columns, k) >= kLeastSideOfFarB &&
           b_bytes >= times * scratchpads;
  };
  if (product.b_lies_along_k) {
    if (rows <= kRowsBesideFarColumns && is_far(kScratchpadsOfFarColumns)) return false;
  } else if (rows >= kLeastRowsBesideFarRows && rows <= kRowsOfRegister &&
             is_far(kScratchpadsOfFarRows)) {
    return true;
  }
  if (is_shared_too_finely(product)) return false;
  const double filled_rows = filled_up(rows, kRowsOfRegister);
  // A shorter k ends where it does.
  const double filled_k = k > kDepthOfRegister ? filled_up(k, kDepthOfRegister) : k;
  const double beside_rows = product.b_lies_along_k ? kLostBesideRowsAlong : kLostBesideRows;
  const double beside_columns =
      product.a_lies_along_k ? kLostBesideColumns : kLostBesideColumnsAcross;
  const double lost =
      beside_rows / rows + beside_columns / columns + (filled_rows / rows * (filled_k / k) - 1);
  return k * (1 - lost) >= kLeastDepthOfParts;
}

}  // namespace tessera
