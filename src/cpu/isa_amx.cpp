// Microkernel for AMX: blocks of 32×32 of C (tile_registers.hpp), or with a short k flat ones of 16
// rows (flat_blocks.hpp). Rows of A are read where they lie, whatever they end in, or packed, as B
// is (tile_packing.hpp); f16 in two parts of bf16, which take four products, and f32 in three,
// which take six, or by vectors where parts do not hold it (split_f32.hpp).
//
// Subnormal bf16 inputs and sums count as zero, as with AVX512-BF16; of f32 none do. Products of
// 8-bit integers are exact modulo 2^32 for either sign, so nothing is offset.
#include <immintrin.h>

#include "core/tile_registers_rule.hpp"
#include "cpu/flat_blocks.hpp"
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/pack_f32_parts.hpp"
#include "cpu/pack_strips.hpp"
#include "cpu/tile_packing.hpp"
#include "cpu/tile_registers.hpp"
#include "cpu/tile_sums.hpp"
#include "cpu/unsplit_f32.hpp"

namespace tessera::cpu {
namespace {

template <class Multiply, class Packing>
struct CodeAmx : Packing {
  using Acc = typename Multiply::Acc;
  using Packing::kDepth;
  using Packing::kElement;
  using Packing::kParts;
  using Packing::pack_b;
  using Packing::padded;
  using Packing::padded_b;
  using Packing::row_bytes;
  static_assert(kParts == Multiply::kParts);
  static constexpr std::int64_t kStepA = kParts * kChunkBytesA;  // from chunk to chunk
  static constexpr std::int64_t kStepB = kParts * kChunkBytesB;
  // A piece of a panel of B stays in the nearest cache (16 of 48 KB) while so many strips of A pass
  // by from the second, and so do their sums (16 KB), which change places with each other in the
  // registers.
  static constexpr std::int64_t kChunksTogether = 8 / kParts;
  static constexpr int kStripsTogether = 4;
  // Where B stays in the second-level cache it is the other way round: a strip of A with so much of
  // k stays in the nearest one, and all of B passes by, so that C is written from end to end.
  // Granite Rapids, one thread, 2026-11, the time by pieces of B's panels over the time so: i8 192³
  // 1.1, 512³ 1.1, 768³ 1.19, 1000³ 1.16, 1024³ 1.25, 200×2000×128 1.15, bf16 384³ 1.09, 512³ 1.14;
  // level with 2 KB of a row, whose strips leave it.
  static constexpr std::int64_t kMostNearChunks = 24 / kParts;
  // Fewer leave no time to fetch C's rows.
  static constexpr std::int64_t kLeastChunksToFetch = 2;
  // Of a panel that is packed by pieces (core/tile_registers_rule.hpp). Granite Rapids, one thread,
  // 2026-11-30, bf16, microseconds with 2, 4, 6 and 8: 16×300×300 5.8, 5.5, 5.4, 5.5, 64×500×800
  // 42, 38, 36, 38, 16×1000×1000 73, 74, 76, 74, 64×1000×1000 149, 143, 155, 174.
  static constexpr std::int64_t kChunksOfPiece = 4;
  // One that is no longer is one piece. The same machine, the time by pieces of four over the time
  // so: 64×1000×200 1.18, 96×1000×200 1.26, 128×1000×200 1.32, 96×256×256 1.23, 128×256×256 1.17,
  // 64×256×256 1.08, 48×256×256 0.95, of one strip 16×1000×200 1.03.
  static constexpr std::int64_t kMostChunksOfOnePiece = 8;
  static constexpr bool kPacksByPieces = kElement == 2 && kParts == 1;
  static_assert(kMostRowsByPieces <= kStripsTogether * kBlock);
  // A panel that is no longer is one piece: no sums are kept beside it then.
  static constexpr std::int64_t kMostChunksAtOnce = 16 / kParts;
  // Of bytes, strips so short stay in pairs, and each panel of a small B for both of them, where
  // C's rows are whole lines. Granite Rapids, 2026-11, the time by single strips over the time by
  // pairs, one thread and two: 192³ 1.00 to 1.06, 1.00, 256³ 1.05 to 1.14, 1.07, 320³ 1.03
  // to 1.07, 1.06, 1024×256×256 1.06 to 1.11, 1.11, 64×512×256 1.06, 1.03, 512×512×256 1.01, 1.03;
  // but 256×1024×256 0.91 to 0.99, 1.05, 128×4096×256 0.82, 0.98; with two chunks 128³ 0.94, with
  // six 384³ 1.01; off the lines 200×700×300 0.96, 355×342×310 0.94; bf16 with four
  // 512×512×128 1.03, 1.04, 4096×96×256 1.00, with eight 256³ 0.96, with twelve 384³ 0.83.
  static constexpr std::int64_t kLeastPairedChunks = 3;
  static constexpr std::int64_t kMostPairedChunks = 5;
  static constexpr std::int64_t kMostPairedColumns = 512;

  // Rows along which whole panels are walked before the last, narrower one is walked down them,
  // with registers of its size, so that its sums go straight to C, too. Granite Rapids, one thread,
  // 2026-11, the time with full registers and by the kept sums, strip by strip, over the time so,
  // i8 and bf16: 2334×49×78 1.21, 1.07, 1546×55×86 1.21, 1.06, 300³ 1.04, 1.05, 1023³ 1.01, 1.00,
  // of 20 products 1.03, 1.015, f16 1.03; 5000×100×96, whose C leaves L2, 0.91, 0.92. With half the
  // rows 1.01 times as long, with a quarter 1.03.
  static constexpr int kRowsBeforeEdge = 8 * kBlock;

  static std::int64_t chunks_of(const BlockTask& task) { return padded(task.depth) / kDepth; }

  // Whether sums are stored as they are, or added so to those before them.
  static bool is_unscaled(const BlockTask& task) {
    return task.sum != nullptr && chunks_of(task) > 0 && task.alpha == 1 &&
           (task.beta == 0 || task.beta == 1);
  }
  // Whether they go from memory to the registers and back.
  static bool is_plain(const BlockTask& task) {
    return is_unscaled(task) && (task.beta == 0 || !Multiply::kAddsByVectors);
  }
  // Not beside pairs of strips: i8 256³ takes 1.03 to 1.1 times as long. Nor where a single narrow
  // panel needs lines twice.
  static bool fetches(const BlockTask& task, Staying what) {
    return task.fetches_sums && chunks_of(task) >= kLeastChunksToFetch && what != Staying::both;
  }
  // In a block's so many chunks.
  static RowsToFetch rows_to_fetch(const SumPlace& to, int rows, int cols, std::int64_t chunks) {
    const auto at_once = static_cast<int>((rows + chunks - 1) / chunks);
    const bool cross_lines = !are_whole_lines(to.at, to.pitch);
    return {
        static_cast<const unsigned char*>(to.at), to.pitch, 4 * cols, cross_lines, rows, at_once};
  }

  static bool goes_in_pairs(const BlockTask& task) {
    const std::int64_t chunks = chunks_of(task);
    return kElement == 1 && chunks >= kLeastPairedChunks && chunks <= kMostPairedChunks &&
           task.cols <= kMostPairedColumns && are_whole_lines(task.sum, task.sum_stride * 4);
  }

  // Whether rows of A are read in place across lines, so that two loads take a part of each.
  static bool lies_across_lines(const BlockOperand& a) {
    return a.in_place && !are_whole_lines(a.data, a.along_stride * kElement);
  }

  // Whether such rows pass by once, beside a single panel that is not whole: lines that stay for
  // the second load drive out nothing that is needed. Granite Rapids, one thread, 2026-11, the time
  // with lines that pass by over the time so: bf16 712×10×466 1.7, 257×6×380 1.5, 98×11×553 1.3, i8
  // 401×8×981 1.5, 1205×3×1258 1.5, 2111×2×60 1.8; on lines 700×16×512 1.0, beside several panels
  // 0.94 to 1.08. Emerald Rapids, nine of 2 to 16 columns bf16 1.1, i8 1.2.
  static bool needs_lines_twice(const BlockTask& task) {
    return task.cols < kBlock && lies_across_lines(task.a);
  }

  static Strip strip_of(const BlockOperand& a, std::int64_t row, std::int64_t chunk) {
    const auto* data = static_cast<const unsigned char*>(a.data);
    if (!a.in_place) {
      data += row / kBlock * a.panel_bytes + row % kBlock * kRowBytes;
      return {data + chunk * kStepA, kRowBytes, kStepA};
    }
    const std::int64_t pitch = a.along_stride * kElement;
    return {data + row * pitch + chunk * kRowBytes, pitch, kRowBytes};
  }

  // Of rows in place that end in a part of a register's row, the last 64 bytes of k, with zeros, in
  // `to`; null otherwise.
  static const unsigned char* end_of(const BlockTask& task, std::int64_t row, int rows,
                                     unsigned char* to) {
    if (!task.a.in_place || task.depth * kElement % row_bytes(task.depth) == 0) return nullptr;
    const auto left = static_cast<unsigned>(task.depth % kDepth * kElement);
    const Strip last = strip_of(task.a, row, chunks_of(task) - 1);
    const __mmask64 mask = (std::uint64_t{1} << left) - 1;
    finish_stores();  // tile registers may still be loaded from there
    for (int i = 0; i < rows; ++i) {
      const __m512i part = _mm512_maskz_loadu_epi8(mask, last.data + i * last.pitch);
      _mm512_store_si512(to + i * kRowBytes, part);
    }
    return to;
  }

  // Strips of rows, all of `rows` each but for the last one, from `row` on, times a panel of B.
  struct Group {
    std::int64_t row = 0;
    std::int64_t col = 0;
    int strips = 0;
    int rows = 0;
    int last_rows = 0;
    int cols = 0;
    const unsigned char* ends[kStripsTogether] = {};  // of their rows (end_of)

    int rows_of(int strip) const { return strip + 1 < strips ? rows : last_rows; }
  };

  // A packed panel of B, from a chunk on.
  struct PackedPanel {
    static constexpr bool kPacks = false;
    const unsigned char* data = nullptr;

    const unsigned char* piece(std::int64_t first, std::int64_t) const {
      return data + first * kStepB;
    }
  };

  // One that is packed a piece at a time, when it is wanted.
  struct PassingPanel {
    static constexpr bool kPacks = true;
    const BlockTask& task;
    std::int64_t col = 0;
    int cols = 0;

    const unsigned char* piece(std::int64_t first, std::int64_t count) const {
      using Source = typename Packing::SourceB;
      finish_stores();  // tile registers may still be loaded from there
      const BlockOperand& b = task.b;
      const std::int64_t k = first * kDepth;
      const std::int64_t left = task.depth - k;
      const std::int64_t depth = left < count * kDepth ? left : count * kDepth;
      const auto* from =
          static_cast<const Source*>(b.data) + k * b.depth_stride + col * b.along_stride;
      // A k that is longer than a chunk ends in a whole one.
      pack_b({from, cols, depth, b.along_stride, b.depth_stride},
             first > 0 ? padded(depth) : padded_b(depth), task.passing_panel);
      return static_cast<const unsigned char*>(task.passing_panel);
    }
  };

  // Their sums while k goes on, packed so that they lie apart in the nearest cache, and the ends of
  // their rows.
  struct alignas(64) Kept {
    Acc sums[kStripsTogether][kBlock * kBlock];
    unsigned char ends[kStripsTogether][kBlock * kRowBytes];
  };

  // Inlined, as arguments in memory cost more than the rest of it: Granite Rapids, one thread,
  // 2026-11-30, bf16, the time by a call over the time so, 64×320×384 1.14, 96×320×384 1.16,
  // 64×300×784 1.11, 64×500×500 1.10, not by pieces level.
  template <Staying What, class PanelOfB>
  [[gnu::always_inline]] static void multiply_group(const BlockTask& task, const Group& group,
                                                    const PanelOfB& b, Kept& kept,
                                                    TileRegisters& registers) {
    const std::int64_t chunks = chunks_of(task);
    const bool has_sum = task.sum != nullptr;
    const bool goes_straight = is_plain(task);  // or else by way of the kept sums
    const bool goes_on = goes_straight && task.beta == 1;
    const bool streams = task.streams_sums && goes_straight && group.cols == kBlock &&
                         are_whole_lines(task.sum, task.sum_stride * 4);
    const auto is_direct = [&](int strip) {
      return goes_straight && !streams && registers.hold_just(group.rows_of(strip), group.cols);
    };
    const bool fetches_rows = fetches(task, What);
    const auto part = [&](int strip) -> Part {
      return {task.sum_stride, group.rows_of(strip), group.cols};
    };
    const auto sum_at = [&](int strip) {
      return static_cast<Acc*>(task.sum) + (group.row + strip * kBlock) * task.sum_stride +
             group.col;
    };
    const auto place = [&](int strip, bool is_in_memory) -> SumPlace {
      if (is_in_memory) return {sum_at(strip), task.sum_stride * 4};
      return {kept.sums[strip], kBlock * 4};
    };
    if (chunks == 0) __builtin_memset(kept.sums, 0, sizeof(kept.sums));
    if (goes_on && !is_direct(group.strips - 1)) {
      registers.flush();
      for (int strip = 0; strip < group.strips; ++strip) {
        if (!is_direct(strip)) copy_in(sum_at(strip), part(strip), kept.sums[strip]);
      }
    }
    const bool is_one_strip = group.strips == 1;
    const std::int64_t most = PanelOfB::kPacks ? kChunksOfPiece : kChunksTogether;
    const bool is_one_piece = PanelOfB::kPacks ? chunks <= kMostChunksOfOnePiece
                                               : is_one_strip || chunks <= kMostChunksAtOnce;
    const std::int64_t pieces = is_one_piece ? 1 : (chunks + most - 1) / most;
    const std::int64_t piece = (chunks + pieces - 1) / pieces;
    for (std::int64_t first = 0; first < chunks; first += piece) {
      const std::int64_t count = piece < chunks - first ? piece : chunks - first;
      const bool is_last = first + count == chunks;
      const unsigned char* const panel = b.piece(first, count);
      for (int strip = 0; strip < group.strips; ++strip) {
        const int rows = group.rows_of(strip);
        Strip a = strip_of(task.a, group.row + strip * kBlock, first);
        if (is_last) a.end_at(group.ends[strip], count);
        if constexpr (PanelOfB::kPacks) {
          if (first > 0 && is_one_strip) {
            registers.go_on<Multiply, What>(a, panel, count);
            continue;
          }
        }
        SumPlace from;
        if (first > 0 || goes_on) from = place(strip, first == 0 && is_direct(strip));
        const SumPlace to = place(strip, (is_last || is_one_strip) && is_direct(strip));
        registers.fetch_panels(group.row + strip == 0 ? task.panels_ahead : 0);
        if (fetches_rows && is_last && is_direct(strip) && from.at != to.at) {
          registers.fetch_beside(rows_to_fetch(to, rows, group.cols, count));
        }
        registers.multiply<Multiply, What>(a, panel, count, rows, group.cols, from, to);
      }
    }
    if (is_direct(0) && is_direct(group.strips - 1) && task.finish == nullptr) return;
    registers.flush();
    for (int strip = 0; strip < group.strips; ++strip) {
      Acc* const value = kept.sums[strip];
      if (streams) {
        stream_out(value, sum_at(strip), part(strip));
      } else if (goes_straight && !is_direct(strip)) {
        copy_out(value, sum_at(strip), part(strip));
      } else if (has_sum && !goes_straight) {
        scale_into(task, value, kBlock, sum_at(strip), part(strip));
      }
      if (task.finish == nullptr) continue;
      finish_sums<Acc>(sub_block(*task.finish, group.row + strip * kBlock, group.col),
                       has_sum ? sum_at(strip) : value, has_sum ? task.sum_stride : kBlock,
                       group.rows_of(strip), group.cols);
    }
  }

  // Whole blocks whose sums go straight to C, with nothing that follows: those of a strip that
  // stays near along C's rows, of a panel down its columns. They are so short that what
  // multiply_group asks for each shows: Granite Rapids, one thread, 2026-11, the time without over
  // the time so, i8 128³ 1.13, 300³ 1.05, 768³ 1.03, bf16 128³ 1.04, 355×342×29 1.05. Returns how
  // many columns, or rows, are done, none where it does not suit.
  template <Staying What>
  static std::int64_t multiply_direct(const BlockTask& task, const Group& group, Kept& kept,
                                      TileRegisters& registers) {
    const std::int64_t chunks = chunks_of(task);
    const bool is_one_piece = What != Staying::b || chunks <= kMostChunksAtOnce;
    const bool suits = is_unscaled(task) && task.finish == nullptr && !task.streams_sums;
    if (!suits || !is_one_piece || !registers.hold_just(group.rows, kBlock)) return 0;
    const std::int64_t pitch = task.sum_stride * 4;
    const bool fetches_rows = fetches(task, What);
    RowsToFetch ahead;
    if (fetches_rows) ahead = rows_to_fetch({task.sum, pitch}, group.rows, kBlock, chunks);
    // Sums that are added to are read first, and are near when they are stored: of those the next
    // block's are fetched, if there is one. Emerald Rapids, one thread, 2026-11, the time without
    // over the time with it, beside a busy hardware thread: i8 384×384×3000 1.04,
    // 960×960×3000 1.06, bf16 1.06, 1.07.
    const bool adds = task.beta == 1 && Multiply::kAddsByVectors;
    const bool fetches_next = task.beta == 1 && !adds;
    const int rows_ahead = fetches_next && What == Staying::b ? group.rows : 0;
    const int cols_ahead = fetches_next && What != Staying::b ? kBlock : 0;
    const auto sum_at = [&](std::int64_t row, std::int64_t col) {
      return static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
    };
    const auto* b = static_cast<const unsigned char*>(task.b.data);
    const auto block = [&](std::int64_t row, std::int64_t col, const unsigned char* end)
        __attribute__((always_inline)) {
      Strip a = strip_of(task.a, row, 0);
      a.end_at(end, chunks);
      const SumPlace to{sum_at(row, col), pitch};
      const bool is_there =
          row + rows_ahead + group.rows <= task.rows && col + cols_ahead + kBlock <= task.cols;
      if (fetches_rows && is_there) {
        const Acc* const fetched = sum_at(row + rows_ahead, col + cols_ahead);
        ahead.next = reinterpret_cast<const unsigned char*>(fetched);
        registers.fetch_beside(ahead);
      }
      const unsigned char* const panel = b + col / kBlock * task.b.panel_bytes;
      registers.fetch_panels(row == 0 ? task.panels_ahead : 0);
      if constexpr (Multiply::kAddsByVectors) {
        if (adds) {
          const RowsToAdd rows{kept.sums[0], sum_at(row, col), task.sum_stride, group.rows};
          registers.multiply<Multiply, What>(a, panel, chunks, group.rows, kBlock, {},
                                             {kept.sums[0], kBlock * 4}, rows);
          return;
        }
      }
      registers.multiply<Multiply, What>(a, panel, chunks, group.rows, kBlock,
                                         task.beta == 1 ? to : SumPlace{}, to);
    };
    if constexpr (What == Staying::b) {
      std::int64_t row = group.row;
      for (; row + group.rows <= task.rows; row += group.rows) {
        block(row, group.col, end_of(task, row, group.rows, kept.ends[0]));
      }
      return row;
    } else {
      std::int64_t col = 0;
      for (; col + kBlock <= task.cols; col += kBlock) {
        for (int strip = 0; strip < group.strips; ++strip) {
          block(group.row + strip * kBlock, col, group.ends[strip]);
        }
      }
      return col;
    }
  }

  static bool is_flat(const BlockTask& task) {
    const std::int64_t depth_bytes = task.depth * kElement;
    if (task.a.in_place && reads_rows_once(task.rows, task.cols, depth_bytes)) return true;
    const bool is_far = task.sums_are_far && !task.streams_sums;
    const bool has_narrow_panel = task.cols > kBlock && task.cols % kBlock != 0;
    return task.depth > 0 && (is_far || has_narrow_panel) &&
           suits_flat_blocks(depth_bytes, task.cols);
  }

  // Columns of C, from the left: `full` registers of them, and then, where `has_last`, the last
  // one.
  static void multiply_flat_block(const BlockTask& task, const Strip& a, const Part& part,
                                  std::int64_t row, std::int64_t col, bool has_last,
                                  FlatRegisters<Multiply>& registers, Acc* kept) {
    const bool has_sum = task.sum != nullptr;
    const bool is_direct = is_plain(task);
    auto* sum = static_cast<Acc*>(task.sum);
    if (has_sum) sum += row * task.sum_stride + col;
    const SumPlace in_c{sum, task.sum_stride * 4};
    const SumPlace apart{kept, kFlatCols * 4};
    // As with RowsToFetch; with the shortest k also where rows lie on lines: Granite Rapids, one
    // thread, 2026-11, the time without over the time with it, bf16 660×563×32 1.6,
    // 1549×162×10 1.3, on lines 1549×160×10 1.37, i8 3000×128×32 1.5, 4000×64×64 0.95, but with two
    // groups of k bf16 4000×64×64 0.84, with three 2782×48×96 0.85; in the nearest cache i8
    // 128×64×64 0.65.
    const bool fetches_rows = is_direct && task.beta == 0 && task.sums_are_far &&
                              (chunks_of(task) == 1 || !are_whole_lines(task.sum, in_c.pitch));
    if (fetches_rows) {
      const auto* line = static_cast<const unsigned char*>(in_c.at);
      for (int i = 0; i < part.rows; ++i, line += in_c.pitch) {
        for (int at = 0; at < 4 * part.cols; at += kRowBytes) __builtin_prefetch(line + at, 1, 3);
      }
    }
    const auto* columns = static_cast<const unsigned char*>(task.b.data);
    FlatColumns b;
    for (int i = 0; i * kTileCols < part.cols; ++i) {
      const std::int64_t at = col + i * kTileCols;
      b.of[i] = columns + at / kBlock * task.b.panel_bytes + at % kBlock * 4;
    }
    const int full = has_last ? (part.cols - 1) / kTileCols : part.cols / kTileCols;
    registers.multiply(a, b, chunks_of(task), full, has_last,
                       is_direct && task.beta == 1 ? in_c : SumPlace{}, is_direct ? in_c : apart);
    if (has_sum && !is_direct) scale_into(task, kept, kFlatCols, sum, part);
    if (task.finish == nullptr) return;
    finish_sums<Acc>(sub_block(*task.finish, row, col), has_sum ? sum : kept,
                     has_sum ? task.sum_stride : kFlatCols, part.rows, part.cols);
  }

  static void multiply_flat(const BlockTask& task) {
    alignas(64) Acc kept[kTileRows * kFlatCols];
    alignas(64) unsigned char end[kTileRows * kRowBytes];
    const auto last = static_cast<int>((task.cols - 1) % kTileCols) + 1;
    FlatRegisters<Multiply> registers(some_of(task.rows, kTileRows), last, row_bytes(task.depth));
    for (std::int64_t row = 0; row < task.rows; row += kTileRows) {
      Part part{task.sum_stride, some_of(task.rows - row, kTileRows)};
      registers.fit(part.rows);
      Strip a = strip_of(task.a, row, 0);
      a.end_at(end_of(task, row, part.rows, end), chunks_of(task));
      for (std::int64_t col = 0; col < task.cols; col += part.cols) {
        const std::int64_t left = task.cols - col;
        const bool has_last = last == kTileCols || left <= kFlatCols;
        part.cols = some_of(left, has_last ? kFlatCols : kFlatCols - kTileCols);
        multiply_flat_block(task, a, part, row, col, has_last, registers, kept);
      }
    }
  }

  // Few strips of rows, all at once beside each piece of B's panels, which are packed in passing.
  template <Staying What>
  static void multiply_pieces(const BlockTask& task, Group group, Kept& kept) {
    TileRegisters registers(group.rows, some_of(task.cols, kBlock), row_bytes(task.depth));
    for (; group.col < task.cols; group.col += kBlock) {
      group.cols = some_of(task.cols - group.col, kBlock);
      const PassingPanel panel{task, group.col, group.cols};
      multiply_group<What>(task, group, panel, kept, registers);
    }
    registers.flush();
    if (task.streams_sums) _mm_sfence();
  }

  // Of rows in place the last strip has as many as others, or fills its registers of 16. Several
  // strips come from L2 beside each panel, and drive out its pieces unless they pass by; rows of C
  // are fetched then (fetches()). Granite Rapids, one thread, 2026-11-30, bf16, the time with rows
  // that stay over the time so: 64×500×800 1.11, 64×1000×800 1.13, 64×1000×400 1.16, 96×1000×192
  // 1.21, 96×500×800 1.13, 64×320×800 1.03, 64×64×192 1.01; of one strip 0.84 to 1.05, of rows in
  // place across lines 0.87 to 0.97.
  static void multiply_passing(const BlockTask& task) {
    Kept kept;
    Group group;
    group.strips = static_cast<int>((task.rows + kBlock - 1) / kBlock);
    group.rows = some_of(task.rows, kBlock);
    group.last_rows = static_cast<int>(task.rows - (group.strips - 1) * kBlock);
    for (int strip = 0; strip < group.strips; ++strip) {
      group.ends[strip] = end_of(task, strip * kBlock, group.rows_of(strip), kept.ends[strip]);
    }
    const bool pass_by = group.strips > 1 && !lies_across_lines(task.a);
    pass_by ? multiply_pieces<Staying::b>(task, group, kept)
            : multiply_pieces<Staying::both>(task, group, kept);
  }

  static void multiply(const BlockTask& task) {
    if (task.rows == 0 || task.cols == 0) return;
    if constexpr (Packing::kExtra > 0) {
      if (task.depth > 0 && !parts_hold(task)) return multiply_one_by_one(task, multiply_by_tiles);
    }
    multiply_by_tiles(task);
  }

  static void multiply_by_tiles(const BlockTask& task) {
    if constexpr (kPacksByPieces) {
      if (task.passing_panel != nullptr) return multiply_passing(task);
    }
    if constexpr (kParts == 1) {
      if (is_flat(task)) return multiply_flat(task);
    }
    Kept kept;
    const int most_rows = some_of(task.rows, kBlock);
    const int most_cols = some_of(task.cols, kBlock);
    TileRegisters registers(most_rows, most_cols, row_bytes(task.depth));
    const bool a_stays = task.sums_are_far && chunks_of(task) <= kMostNearChunks;
    const bool in_pairs = a_stays && goes_in_pairs(task);
    const bool both_stay = in_pairs || needs_lines_twice(task);
    const int together = in_pairs ? 2 : a_stays ? 1 : kStripsTogether;
    const auto panel = [&](Group group, std::int64_t col) {
      group.col = col;
      group.cols = some_of(task.cols - col, kBlock);
      const auto* b = static_cast<const unsigned char*>(task.b.data);
      b += col / kBlock * task.b.panel_bytes;
      const PackedPanel packed{b};
      if (both_stay) {
        multiply_group<Staying::both>(task, group, packed, kept, registers);
      } else if (a_stays) {
        multiply_group<Staying::a>(task, group, packed, kept, registers);
      } else {
        multiply_group<Staying::b>(task, group, packed, kept, registers);
      }
    };
    const auto group_at = [&](std::int64_t row, int cols) {
      const std::int64_t left = task.rows - row;
      Group group;
      group.row = row;
      group.rows = some_of(left, kBlock);
      group.last_rows = group.rows;
      group.strips = left < kBlock ? 1 : some_of(left / kBlock, together);
      for (int strip = 0; strip < group.strips; ++strip) {
        const std::int64_t at = row + strip * kBlock;
        group.ends[strip] = end_of(task, at, group.rows, kept.ends[strip]);
      }
      // Rows behind the last are there to be read where A is packed, and nowhere else.
      registers.fit(task.a.in_place ? group.rows : most_rows, cols);
      return group;
    };
    const auto down = [&](std::int64_t row, std::int64_t end, std::int64_t col, int cols) {
      while (row < end) {
        const Group group = group_at(row, cols);
        panel(group, col);
        row += group.strips * kBlock;
      }
    };
    if (task.sums_are_far) {
      const std::int64_t whole = task.cols / kBlock * kBlock;
      const auto along = [&](std::int64_t row, std::int64_t end) {
        while (row < end) {
          const Group group = group_at(row, kBlock);
          std::int64_t col = 0;
          if (in_pairs) {
            col = multiply_direct<Staying::both>(task, group, kept, registers);
          } else if (a_stays) {
            col = multiply_direct<Staying::a>(task, group, kept, registers);
          }
          for (; col < whole; col += kBlock) panel(group, col);
          row += group.strips * kBlock;
        }
      };
      for (std::int64_t row = 0; row < task.rows; row += kRowsBeforeEdge) {
        const std::int64_t end = row + some_of(task.rows - row, kRowsBeforeEdge);
        if (whole > 0) along(row, end);
        if (whole < task.cols) down(row, end, whole, static_cast<int>(task.cols - whole));
      }
    } else {
      for (std::int64_t col = 0; col < task.cols; col += kBlock) {
        std::int64_t row = 0;
        if (col + kBlock <= task.cols) {
          registers.fit(most_rows, most_cols);
          Group all;
          all.col = col;
          all.rows = most_rows;
          row = multiply_direct<Staying::b>(task, all, kept, registers);
        }
        down(row, task.rows, col, most_cols);
      }
    }
    registers.flush();
    if (task.streams_sums) _mm_sfence();  // before another thread may be told
  }

  static constexpr KernelCode make(std::string_view name, const KernelCode* turned = nullptr) {
    KernelCode code;
    code.name = name;
    code.mr = kBlock;
    code.nr = kBlock;
    code.depth_step = kDepth;
    if (Packing::kShortens) code.short_step_b = Packing::kGroup;
    code.packed_size_a = kParts * kElement;
    code.packed_size_b = kParts * kElement;
    code.panel_extra_a = Packing::kExtra;
    code.panel_extra_b = Packing::kExtra;
    code.keeps_rows = kParts == 1;
    code.packing_copies_rows = true;
    code.rows_together = kStripsTogether * kBlock;
    if constexpr (kPacksByPieces) code.piece_depth = kMostChunksOfOnePiece * kDepth;
    code.accumulator = accumulator_type<Acc>();
    code.turned = turned;
    code.pack_a = Packing::pack_a;
    code.pack_b = pack_b;
    code.multiply = multiply;
    code.add = add_sums<Acc>;
    code.finish = finish_sums<Acc>;
    return code;
  }
};

template <class A, class B, class Parts = WholeElements>
using Panels = TilePacking<RowUnits<A>, ColumnUnits<B>, Parts>;

using CodeBf16 = CodeAmx<MultiplyBf16, Panels<bf16, bf16>>;
// An f16 is moved as any 16 bits before it is split.
template <bool Turned>
using CodeF16 = CodeAmx<MultiplyTwoBf16<Turned>, Panels<bf16, bf16, TwoPartsOfF16>>;
template <bool Turned>
using CodeF32 = CodeAmx<MultiplyThreeBf16<Turned>, PanelsOfF32>;
using CodeU8 = CodeAmx<MultiplyU8I8, Panels<std::uint8_t, std::int8_t>>;
using CodeU8Turned = CodeAmx<MultiplyI8U8, Panels<std::int8_t, std::uint8_t>>;
using CodeI8 = CodeAmx<MultiplyI8I8, Panels<std::int8_t, std::int8_t>>;

constexpr KernelCode kF16Turned = CodeF16<true>::make("cpu_amx_f16");
constexpr KernelCode kF32Turned = CodeF32<true>::make("cpu_amx_f32");
constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_amx_u8");
constexpr KernelCode kCode[] = {CodeBf16::make("cpu_amx_bf16"),
                                CodeF16<false>::make("cpu_amx_f16", &kF16Turned),
                                CodeF32<false>::make("cpu_amx_f32", &kF32Turned),
                                CodeU8::make("cpu_amx_u8", &kU8Turned), CodeI8::make("cpu_amx_i8")};

}  // namespace

std::span<const KernelCode> amx_code() {
  return kCode;
}

}  // namespace tessera::cpu
