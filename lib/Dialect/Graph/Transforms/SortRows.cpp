//===- SortRows.cpp - Rows sorted by networks and merges ------------------===//
//
// An element is one word: its key above its index, so that words are distinct and their order is
// that of a stable sort. The words of a short row are sorted by one CTA (`gir.sort`). The sorted
// indices are the low bits of the words.
//
// A longer row is divided into runs, which are sorted in the same way and then merged two by two.
// The position of a word in the merged run is its position in its own run plus the number of words
// of the other run that precede it, which a binary search finds. Words are scattered to their
// positions; neighbors of a run stay close to each other.
//
//   row:  n words  ──sort──▶  runs of 4096  ──merge──▶  runs of 8192  ──merge──▶  …  ──▶  n indices
//
// Keys of 64 bits leave no room for the index: the row is sorted by their lower half first.
//
//===----------------------------------------------------------------------===//
#include "RowBuilder.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

/// The longest row that a CTA sorts, and the longest that is merged from such runs: each merge is a
/// kernel, and a radix sort takes the same number of kernels for all rows.
static constexpr int64_t kRun = 4096, kLongestMerged = int64_t(1) << 22;

namespace {

class RowSorter : RowBuilder {
public:
  RowSorter(OpBuilder &builder, ArgSortOp op) : RowBuilder(builder, op) {}

  Value run(std::optional<int64_t> first) {
    Value indices = sortedIndices();
    return indices && first ? take(indices, SymExpr(*first)) : indices;
  }

private:
  Value sortedIndices() {
    SymExpr length = type(input).getShape().back();
    longest = facts.max(length);
    if (longest > kLongestMerged)
      return {};
    auto [key, bits] = keys();
    if (bits <= 32)
      return order(key, bits);
    Value low = order(map(ScalarOp::And, key, 0xFFFFFFFF), 32);
    Value high = map(ScalarOp::Add, map(ScalarOp::Shr, key, 32), int64_t(1) << 31);
    return gather(low, order(gather(high, low), 32));
  }
  /// The positions in the order of keys; equal keys keep their order.
  Value order(Value key, int64_t bits) {
    // No index has all bits set, so that a padded word is larger than all others.
    indexBits = std::bit_width(uint64_t(std::max<int64_t>(longest, 1)));
    width = bits + indexBits <= 31 ? 32 : 64;
    Value words = longest <= kRun ? sorted(wordsOf(key, iota(type(key), rank()))) : merged(key);
    return cast(map(ScalarOp::And, words, (int64_t(1) << indexBits) - 1), 64);
  }

  Value wordsOf(Value key, Value index) {
    return map(ScalarOp::Or, {map(ScalarOp::Shl, cast(key, width), indexBits), cast(index, width)});
  }
  Value sorted(Value words) { return SortOp::create(builder, loc, words.getType(), words); }

  Value merged(Value key) {
    SymExpr length = type(key).getShape().back(), runs = length.ceilDiv(SymExpr(kRun)),
            size = runs * SymExpr(kRun);
    auto flat = gir::TensorType::get(shape(size), builder.getI64Type());
    Value index = iota(flat, rank());
    Value isInside = map(ScalarOp::Lt, {index, sizeLike(length, index)});
    Value words = wordsOf(gather(key, index), index);
    // Constants are exact as floats of 64 bits.
    int64_t last = width == 32 ? std::numeric_limits<int32_t>::max()
                               : std::numeric_limits<int64_t>::max() - 1023;
    words = map(ScalarOp::Where, {isInside, words, number(last, words)});
    words = reshape(sorted(reshape(words, {runs, SymExpr(kRun)})), size);
    for (int64_t run = kRun; run < longest; run *= 2)
      words = merge(words, run);
    return take(words, length);
  }

  /// Merges runs of `run` words two by two; the last one may have no partner.
  Value merge(Value words, int64_t run) {
    SymExpr size = type(words).getShape().back();
    auto places = gir::TensorType::get(type(words).getShape(), builder.getI32Type());
    Value place = iota(places, rank());
    Value other = map(ScalarOp::Xor, map(ScalarOp::And, place, -run), run);
    Value end = sizeLike(size, place), count;
    for (int64_t step = run / 2; step >= 0; step = step == 1 ? 0 : step == 0 ? -1 : step / 2) {
      // The words before `count` precede; the last probe is the only one that adds a single word
      // without a wider one.
      int64_t ahead = std::max<int64_t>(step - 1, 0), added = std::max<int64_t>(step, 1);
      Value probe = count ? map(ScalarOp::Add, {other, count}) : other;
      if (ahead)
        probe = map(ScalarOp::Add, probe, ahead);
      Value precedes = map(ScalarOp::Lt, {gather(words, probe), words});
      precedes = map(ScalarOp::And, {precedes, map(ScalarOp::Lt, {probe, end})});
      Value more = map(ScalarOp::Where, {precedes, number(added, place), number(0, place)});
      count = count ? map(ScalarOp::Add, {count, more}) : more;
    }
    Value first = map(ScalarOp::And, place, ~run);
    return ScatterOp::create(builder, loc, words.getType(), words,
                             map(ScalarOp::Add, {first, count}), rank());
  }

  /// A size in every element of a tensor of integers.
  Value sizeLike(SymExpr size, Value like) {
    unsigned bits = type(like).getElementType().getIntOrFloatBitWidth();
    Value number = cast(SizeOp::create(builder, loc, size), bits);
    return BroadcastOp::create(builder, loc, number, type(like).getShape(), ArrayRef<int64_t>());
  }

  int64_t longest = 0, indexBits = 0; ///< of rows, and of the index in a word
  unsigned width = 64;                ///< of a word
};
} // namespace

double gir::sortCost(double elements, int64_t longest, int64_t bits, double launch) {
  // A pass of the radix sort has three kernels that move words of 64 bits; a probe of a search
  // waits for a gather.
  constexpr double passOfElement = 64, kernelsOfPass = 3, probe = 2;
  if (longest > kLongestMerged)
    return std::ceil(double(bits) / kParallelDigitBits) *
           (passOfElement * elements + kernelsOfPass * launch);
  double inRun = std::ceil(std::log2(double(std::clamp<int64_t>(longest, 2, kRun)))),
         cost = inRun * (inRun + 1) / 2 * elements + launch;
  for (int64_t run = kRun; run < longest; run *= 2)
    cost += probe * (std::log2(double(run)) + 1) * elements + launch;
  return bits > 32 ? 2 * cost : cost;
}

Value gir::sortRows(OpBuilder &builder, ArgSortOp op) {
  return RowSorter(builder, op).run(op.getFirst());
}
