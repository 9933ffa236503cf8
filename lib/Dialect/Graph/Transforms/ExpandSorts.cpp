//===- ExpandSorts.cpp - Sorts as scans and scatters ----------------------===//
//
// On GPUs, SortRows.cpp sorts all but the longest rows. What is left is a
// least-significant-digit radix sort. Every element is one 64-bit word: the remaining bits of its
// key in the low bits, its index above. A pass takes the last digit and scatters the words without
// it to their sorted positions, stably. All passes are therefore the same program, and the last one
// leaves the indices. 64-bit keys are sorted by their lower half first.
//
// The position of a word is the number of words before it in the order of (digit, position). Rows
// are divided into blocks. The words of each digit are counted per block and the counts are
// scanned; inside a block a word's rank among those of its digit is a running count.
//
// Where a target processes rows sequentially (CPUs), words are counted by adding to a table with an
// entry for each digit. The table must be short compared to a block: digits have eight bits and
// blocks some thousands of words, or eleven bits in long rows, whose blocks are longer by the same
// factor. A row's blocks have one length, so that at most one word per block is missing. The rest
// of a word is kept in 32 bits as soon as it fits.
//
// Elsewhere (GPUs) digits have four bits and blocks 256 words. A reduction counts a block's words
// of each digit, and ranks are scans of eight-bit counters, eight of which share an integer. Rows
// are padded to whole blocks by words of the largest key, which stay after all others.
//
// The first few elements of a row are found without sorting it: each block of 64 has its own first
// element, and the k blocks whose first elements come first contain the k first elements of the
// row. SelectFirst.cpp does this for GPUs.
//
//===----------------------------------------------------------------------===//
#include "RowBuilder.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include <bit>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHEXPANDSORTS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {

/// Builds the sort of one tensor along its last dimension.
class Sorter : RowBuilder {
public:
  Sorter(OpBuilder &builder, ArgSortOp op, bool isSequential)
      : RowBuilder(builder, op), isSequential(isSequential) {}

  Value run(std::optional<int64_t> first) {
    auto [key, bits] = keys();
    if (first && isSequential && bits <= 32)
      return firstOf(key, bits, *first);
    Value indices = iota(type(key), rank());
    SymExpr length = type(key).getShape().back();
    if (bits <= 32) {
      indices = sorted(key, indices, bits, length);
    } else {
      indices = sorted(map(ScalarOp::And, key, 0xFFFFFFFF), indices, 32, length);
      key = map(ScalarOp::Add, map(ScalarOp::Shr, key, 32), int64_t(1) << 31);
      indices = sorted(gather(key, indices), indices, 32, length);
    }
    return first ? take(indices, SymExpr(*first)) : indices;
  }

private:
  Value scan(Value x) {
    return ScanOp::create(builder, loc, tessera::ReduceOp::Sum, x, type(x).getRank() - 1);
  }

  /// The first `count` indices in the order of keys.
  Value firstOf(Value key, int64_t bits, int64_t count) {
    constexpr int64_t size = 64;
    SymExpr length = type(key).getShape().back(), parts = length.ceilDiv(SymExpr(size));
    int64_t largest = (int64_t(1) << bits) - 1;
    Value best = gir::ReduceOp::create(
        builder, loc, tessera::ReduceOp::Min,
        reshape(padded(key, parts * SymExpr(size), largest), {parts, SymExpr(size)}),
        ArrayRef<int64_t>{rank() + 1});
    Value chosen = take(sorted(best, iota(type(best), rank()), bits, parts), SymExpr(count));
    // Equal elements keep their order if blocks do: a block's position is the number of blocks
    // before it.
    Value mine = spread(chosen, count, 0), other = spread(chosen, count, 1);
    Value isBefore = cast(map(ScalarOp::Lt, {other, mine}), 64);
    Value place = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, isBefore,
                                        ArrayRef<int64_t>{rank() + 1});
    chosen = ScatterOp::create(builder, loc, chosen.getType(), chosen, place, rank());
    Value start = spread(map(ScalarOp::Mul, chosen, size), size, 0);
    Value index = map(ScalarOp::Add, {start, iota(type(start), rank() + 1)});
    index = reshape(index, SymExpr(count * size));
    Value end = SizeOp::create(builder, loc, length);
    end = BroadcastOp::create(builder, loc, end, type(index).getShape(), ArrayRef<int64_t>());
    Value isInside = map(ScalarOp::Lt, {index, end});
    key = map(ScalarOp::Where, {isInside, gather(key, index), number(largest, index)});
    return take(sorted(key, index, bits, parts * SymExpr(size)), SymExpr(count));
  }

  /// Indices below `end` in the order of keys; equal keys keep their order.
  Value sorted(Value key, Value indices, int64_t bits, SymExpr end) {
    SymExpr length = type(key).getShape().back();
    bool isLong = facts.hint(length) >= 32768;
    int64_t most = isSequential ? (isLong ? 11 : 8) : kParallelDigitBits,
            passes = (bits + most - 1) / most;
    digitBits = isSequential ? (bits + passes - 1) / passes : most;
    digits = 1 << digitBits;
    int64_t size = isSequential ? (isLong ? 65536 : 8192) : 256;
    blocks = length.ceilDiv(SymExpr(size));
    if (isSequential && facts.max(length) <= size)
      blocks = SymExpr(1);
    block = isSequential ? length.ceilDiv(blocks) : SymExpr(size);
    int64_t left = passes * digitBits, indexBits = 31;
    if (int64_t largest = facts.max(end); largest < (int64_t(1) << indexBits))
      indexBits = std::bit_width(uint64_t(std::max<int64_t>(largest, 1) - 1));
    bool overflows = left + indexBits > 63;
    Value words = map(ScalarOp::Or, {map(ScalarOp::Shl, indices, left), key});
    words = padded(words, blocks * block, -1);
    while (left > 0) {
      left -= digitBits;
      words = pass(words, isSequential && left + indexBits <= 31 ? 32 : 64);
    }
    words = take(words, length);
    if (overflows)
      words = map(ScalarOp::And, words, (int64_t(1) << indexBits) - 1);
    return cast(words, 64);
  }

  /// The words in the order of their last digit, without that digit, as words of `width` bits.
  Value pass(Value row, unsigned width) {
    Value words = reshape(row, {blocks, block});
    Value digit = map(ScalarOp::And, words, digits - 1);
    Value place = map(ScalarOp::Add, {startsOf(digit), ranksOf(digit)});
    Value rest = cast(map(ScalarOp::Shr, words, digitBits), width);
    auto result = type(row).withElementType(builder.getIntegerType(width));
    return ScatterOp::create(builder, loc, result, rest, place, rank());
  }

  /// The number of words of every digit in each block: [.., digit, block]. 16-bit counters for four
  /// digits share an integer.
  Value countsOf(Value digit) {
    constexpr int64_t shared = 4;
    int64_t groups = digits / shared;
    Value one = map(ScalarOp::Shl, {number(1, digit), shifted(digit, shared, 4)});
    Value group = spread(map(ScalarOp::Shr, digit, 2), groups, 2);
    Value own = IotaOp::create(builder, loc, group.getType(), rank());
    Value each = spread(one, groups, 2);
    Value counted = map(ScalarOp::Where, {map(ScalarOp::Eq, {group, own}), each, number(0, each)});
    Value sums = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, counted,
                                       ArrayRef<int64_t>{rank() + 2});
    sums = spread(sums, shared, 1);
    Value field = IotaOp::create(builder, loc, sums.getType(), rank() + 1);
    sums = map(ScalarOp::Shr, {sums, map(ScalarOp::Shl, field, 4)});
    return cast(map(ScalarOp::And, sums, 0xFFFF), 32);
  }

  /// The first bit of a digit's counter in an integer that holds several counters of 2^`log` bits
  /// each.
  Value shifted(Value digit, int64_t shared, int64_t log) {
    return map(ScalarOp::Shl, map(ScalarOp::And, digit, shared - 1), log);
  }

  /// The first position for each digit and block, with one table per block: after the words of the
  /// same digit in earlier blocks, and those of smaller digits in all blocks.
  Value sequentialStarts(Value digit) {
    auto counters = gir::TensorType::get(shape({blocks, SymExpr(digits)}), builder.getI32Type());
    Value none = ConstantOp::create(builder, loc, counters, builder.getI32IntegerAttr(0));
    Value key = cast(digit, 32);
    Value counts =
        ScatterAddOp::create(builder, loc, counters, none, number(1, key), key, rank() + 1);
    Value upTo = ScanOp::create(builder, loc, tessera::ReduceOp::Sum, counts, rank());
    Value all = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, counts,
                                      ArrayRef<int64_t>{rank()});
    Value smaller = spread(map(ScalarOp::Sub, {scan(all), all}), blocks, 1);
    Value starts = map(ScalarOp::Add, {map(ScalarOp::Sub, {upTo, counts}), smaller});
    SmallVector<int64_t> rest(rank() + 1);
    std::iota(rest.begin(), rest.end(), 0);
    return GatherOp::create(builder, loc, starts, key, ArrayRef<int64_t>{rank() + 1}, rest);
  }

  /// The same for all words at once.
  Value startsOf(Value digit) {
    if (isSequential)
      return sequentialStarts(digit);
    Value counts = reshape(countsOf(digit), SymExpr(digits) * blocks);
    Value before = map(ScalarOp::Sub, {scan(counts), counts});
    Value number = SizeOp::create(builder, loc, blocks);
    number = BroadcastOp::create(builder, loc, number, type(digit).getShape(), ArrayRef<int64_t>());
    Value block = IotaOp::create(builder, loc, digit.getType(), rank());
    Value place = map(ScalarOp::Add, {map(ScalarOp::Mul, {digit, number}), block});
    return cast(gather(before, place), 64);
  }

  /// The number of earlier words of the same digit in the block. The word itself, counted by the
  /// scan, is subtracted first: it may be the 256th.
  Value ranksOf(Value digit) {
    if (isSequential) {
      Value key = cast(digit, 32), one = number(1, key);
      Value counted =
          ScanOp::create(builder, loc, tessera::ReduceOp::Sum, one, rank() + 1, key, digits);
      return map(ScalarOp::Sub, {counted, one});
    }
    Value shift = shifted(digit, 8, 3);
    Value one = map(ScalarOp::Shl, {number(1, digit), shift}), none = number(0, digit);
    Value isLow = map(ScalarOp::Lt, digit, 8);
    Value low = scan(map(ScalarOp::Where, {isLow, one, none}));
    Value high = scan(map(ScalarOp::Where, {isLow, none, one}));
    Value before = map(ScalarOp::Sub, {map(ScalarOp::Where, {isLow, low, high}), one});
    return map(ScalarOp::And, map(ScalarOp::Shr, {before, shift}), 255);
  }

  bool isSequential;
  // The digits and blocks of the rows that are being sorted.
  int64_t digitBits = 0, digits = 0;
  SymExpr blocks, block;
};

/// Whether kernels that compute the tensor separately compute the same bits: nothing is rounded.
bool isExact(Value tensor) {
  auto isInteger = [](Value x) {
    return cast<gir::TensorType>(x.getType()).getElementType().isInteger();
  };
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || isa<MaterializeOp, ConstantOp, ArgSortOp, ScatterOp>(op))
      continue;
    bool isMove = isa<TransposeOp, ReshapeOp, SliceOp, BroadcastOp, GatherOp, ConcatOp>(op);
    if (!isMove && !(isInteger(reached[i]) && llvm::all_of(op->getOperands(), isInteger)))
      return false;
    reached.insert_range(op->getOperands());
  }
  return true;
}

/// Stores the elements of a sort if they are computed. One kernel counts the digits of the keys and
/// another moves the words. Both must read the same keys, or positions are left out.
void materializeKeys(OpBuilder &builder, ArgSortOp op) {
  Value keys = op.getInput();
  if (isExact(keys))
    return;
  auto stored = MaterializeOp::create(
      builder, op.getLoc(), keys.getType(), keys, UnitAttr(), IntegerAttr(),
      builder.getStringAttr("a sort reads it several times and needs the same bits each time"));
  keys.replaceUsesWithIf(stored, [&](OpOperand &use) {
    return use.getOwner() == op || op->isBeforeInBlock(use.getOwner());
  });
}

struct ExpandSorts : gir::impl::GraphExpandSortsBase<ExpandSorts> {
  using Base::Base;

  Value expand(OpBuilder &builder, ArgSortOp op) {
    std::optional<int64_t> first = op.getFirst();
    if (!sequential && first)
      if (Value indices = gir::selectFirst(builder, op))
        return indices;
    if (!sequential)
      if (Value indices = gir::sortRows(builder, op))
        return indices;
    return Sorter(builder, op, sequential).run(first);
  }

  void runOnOperation() override {
    SmallVector<ArgSortOp> sorts;
    getOperation()->walk([&](ArgSortOp op) { sorts.push_back(op); });
    for (ArgSortOp op : sorts) {
      OpBuilder builder(op);
      materializeKeys(builder, op);
      op.getResult().replaceAllUsesWith(expand(builder, op));
      op.erase();
    }
  }
};
} // namespace
