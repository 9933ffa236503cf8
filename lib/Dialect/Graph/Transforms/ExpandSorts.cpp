//===- ExpandSorts.cpp - Sorting in terms of basic operations -------------===//
//
// A radix sort from the last digit to the first. Every element is one word of 64 bits: what is left
// of its key in the low bits, its index above. A pass looks at the last digit and sends the words
// without it to their places, stably, so that all passes are the same program and the last one
// leaves the indices. Keys of 64 bits are sorted by their lower half first.
//
// The place of a word is the number of words before it in the order of (digit, position). Rows are
// cut into blocks. Over the blocks, words of each digit are counted and the counts are summed up (a
// scan); inside of a block a word's rank among those of its digit is a running count.
//
// Where rows are walked along, words are counted by adding to a table with an entry for each digit,
// which must be short beside a block: digits have eight bits and blocks some thousands of words, or
// eleven bits in long rows, whose blocks are as much longer. A row's blocks have one length, so that
// at most one word per block is missing. What is left of a word is kept in 32 bits as soon as it fits
// there. Elsewhere digits have four bits and blocks 256 words. A block's words of each digit are counted by a
// reduction, and ranks are scans of counters of eight bits, eight of which share an integer. Rows are
// padded to whole blocks by words of the largest key, which stay behind all others.
//
// The first few elements of a row are found without sorting it: each block of 64 has its own first
// element, and as many blocks as elements are wanted, those that come first by theirs, have them all.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/SizeFacts.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include <bit>
#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

namespace tessera::gir {
#define GEN_PASS_DEF_GRAPHEXPANDSORTS
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::gir

namespace {

/// Writes the sort of one tensor along its last dimension.
class Sorter {
public:
  Sorter(OpBuilder &builder, ArgSortOp op, bool walks)
      : builder(builder), loc(op.getLoc()), input(op.getInput()), descending(op.getDescending()),
        walks(walks), facts(op->getParentOfType<func::FuncOp>()),
        lead(type(input).getShape().drop_back()) {}

  Value run(std::optional<int64_t> first) {
    auto [key, bits] = keys();
    if (first && walks && bits <= 32)
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
  static gir::TensorType type(Value x) { return cast<gir::TensorType>(x.getType()); }
  /// The number of dimensions before the one that is sorted.
  int64_t rank() const { return lead.size(); }
  SmallVector<SymExpr> shape(ArrayRef<SymExpr> last) const {
    SmallVector<SymExpr> result(lead);
    llvm::append_range(result, last);
    return result;
  }

  Value map(ScalarOp op, ValueRange x) { return MapOp::create(builder, loc, op, x); }
  Value map(ScalarOp op, Value x, int64_t y) { return map(op, {x, number(y, x)}); }
  Value number(int64_t value, Value like) {
    auto attribute = builder.getIntegerAttr(type(like).getElementType(), value);
    return ConstantOp::create(builder, loc, type(like), attribute);
  }
  Value cast(Value x, unsigned width) {
    if (type(x).getElementType().isSignlessInteger(width))
      return x;
    return CastOp::create(builder, loc, x, builder.getIntegerType(width), false);
  }
  Value iota(gir::TensorType like, int64_t dim) { return IotaOp::create(builder, loc, like, dim); }
  Value constant(ArrayRef<SymExpr> last, int64_t value) {
    auto tensor = gir::TensorType::get(shape(last), builder.getI64Type());
    return ConstantOp::create(builder, loc, tensor, builder.getI64IntegerAttr(value));
  }
  /// The first elements of rows.
  Value take(Value rows, SymExpr count) {
    SmallVector<SymExpr> starts(rank() + 1, SymExpr(0));
    return SliceOp::create(builder, loc, rows, starts, SmallVector<int64_t>(rank() + 1, 1),
                           shape(count));
  }
  /// Rows of so many elements, the last of them this number.
  Value padded(Value rows, SymExpr size, int64_t number) {
    SymExpr missing = size - type(rows).getShape().back();
    if (missing.isConstant(0))
      return rows;
    return ConcatOp::create(builder, loc, rank(), ValueRange{rows, constant(missing, number)});
  }
  Value reshape(Value x, ArrayRef<SymExpr> last) {
    return ReshapeOp::create(builder, loc, x, shape(last));
  }
  /// Elements of rows at places in them.
  Value gather(Value rows, Value places) {
    SmallVector<int64_t> rest(rank());
    std::iota(rest.begin(), rest.end(), 0);
    return GatherOp::create(builder, loc, rows, places, ArrayRef<int64_t>{rank()}, rest);
  }
  Value scan(Value x) {
    return ScanOp::create(builder, loc, tessera::ReduceOp::Sum, x, type(x).getRank() - 1);
  }

  /// Whether the elements are in memory, and so have no more digits than their type.
  static bool isRounded(Value x) {
    while (isa_and_nonnull<TransposeOp, ReshapeOp, SliceOp, BroadcastOp, GatherOp>(
        x.getDefiningOp()))
      x = x.getDefiningOp()->getOperand(0);
    return isa<BlockArgument>(x);
  }

  /// Integers that are ordered as the elements shall be, and the number of their bits: from 0 to
  /// 2^bits - 1, or any int64.
  std::pair<Value, int64_t> keys() {
    Type element = type(input).getElementType();
    auto real = dyn_cast<FloatType>(element);
    Value key = real ? map(ScalarOp::OrderKey, input) : cast(input, 64);
    int64_t bits = real && !element.isF64() ? 32 : element.getIntOrFloatBitWidth();
    if (bits == 64)
      return {descending ? map(ScalarOp::Not, key) : key, bits};
    // Of a narrow number the last digits in f32 say nothing.
    if (int64_t unused = real ? 24 - int64_t(real.getFPMantissaWidth()) : 0;
        unused > 0 && isRounded(input)) {
      key = map(ScalarOp::Shr, key, unused);
      bits -= unused;
    }
    bool isSigned = real || !(element.isInteger(1) || element.isUnsignedInteger());
    if (isSigned)
      key = map(ScalarOp::Add, key, int64_t(1) << (bits - 1));
    if (descending)
      key = map(ScalarOp::Xor, key, (int64_t(1) << bits) - 1);
    return {key, bits};
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
    // Equal elements keep their order where blocks do: a block's place is the number of those before.
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

  /// Indices below `end` in the order of keys, those of equal keys in the order that they have.
  Value sorted(Value key, Value indices, int64_t bits, SymExpr end) {
    SymExpr length = type(key).getShape().back();
    bool isLong = facts.hint(length) >= 32768;
    int64_t most = walks ? (isLong ? 11 : 8) : 4, passes = (bits + most - 1) / most;
    digitBits = walks ? (bits + passes - 1) / passes : most;
    digits = 1 << digitBits;
    int64_t size = walks ? (isLong ? 65536 : 8192) : 256;
    blocks = length.ceilDiv(SymExpr(size));
    if (walks && facts.max(length) <= size)
      blocks = SymExpr(1);
    block = walks ? length.ceilDiv(blocks) : SymExpr(size);
    int64_t left = passes * digitBits, indexBits = 31;
    if (int64_t largest = facts.max(end); largest < (int64_t(1) << indexBits))
      indexBits = std::bit_width(uint64_t(std::max<int64_t>(largest, 1) - 1));
    bool overflows = left + indexBits > 63;
    Value words = map(ScalarOp::Or, {map(ScalarOp::Shl, indices, left), key});
    words = padded(words, blocks * block, -1);
    while (left > 0) {
      left -= digitBits;
      words = pass(words, walks && left + indexBits <= 31 ? 32 : 64);
    }
    words = take(words, length);
    if (overflows)
      words = map(ScalarOp::And, words, (int64_t(1) << indexBits) - 1);
    return cast(words, 64);
  }

  /// Words in the order of their last digit, and without it, which leaves so many bits.
  Value pass(Value row, unsigned width) {
    Value words = reshape(row, {blocks, block});
    Value digit = map(ScalarOp::And, words, digits - 1);
    Value place = map(ScalarOp::Add, {startsOf(digit), ranksOf(digit)});
    Value rest = cast(map(ScalarOp::Shr, words, digitBits), width);
    auto result = type(row).withElementType(builder.getIntegerType(width));
    return ScatterOp::create(builder, loc, result, rest, place, rank());
  }

  /// Adds a dimension of this size before the one that is `back` from the end.
  Value spread(Value x, SymExpr size, int64_t back) {
    SmallVector<SymExpr> sizes(type(x).getShape());
    SmallVector<int64_t> dims(sizes.size());
    std::iota(dims.begin(), dims.end(), 0);
    int64_t at = int64_t(sizes.size()) - back;
    for (int64_t &dim : dims)
      dim += dim >= at;
    sizes.insert(sizes.begin() + at, size);
    return BroadcastOp::create(builder, loc, x, sizes, dims);
  }

  /// How many words of every digit each block has: [.., digit, block]. Counters of 16 bits for four
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

  /// The first bit of a digit's counter where so many share an integer, of 2^`log` bits each.
  Value shifted(Value digit, int64_t shared, int64_t log) {
    return map(ScalarOp::Shl, map(ScalarOp::And, digit, shared - 1), log);
  }

  /// Where the words of this digit and block begin, by adding to a table for every block: behind
  /// those of the same digit in earlier blocks, and those of smaller digits in all.
  Value walkedStarts(Value digit) {
    auto counters =
        gir::TensorType::get(shape({blocks, SymExpr(digits)}), builder.getI32Type());
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

  /// The same for all words at a time.
  Value startsOf(Value digit) {
    if (walks)
      return walkedStarts(digit);
    Value counts = reshape(countsOf(digit), SymExpr(digits) * blocks);
    Value before = map(ScalarOp::Sub, {scan(counts), counts});
    Value number = SizeOp::create(builder, loc, blocks);
    number = BroadcastOp::create(builder, loc, number, type(digit).getShape(), ArrayRef<int64_t>());
    Value block = IotaOp::create(builder, loc, digit.getType(), rank());
    Value place = map(ScalarOp::Add, {map(ScalarOp::Mul, {digit, number}), block});
    return cast(gather(before, place), 64);
  }

  /// How many words of the same digit are before each in its block. The own word, counted by the
  /// scan, is taken off first: it may be the 256th.
  Value ranksOf(Value digit) {
    if (walks) {
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

  OpBuilder &builder;
  Location loc;
  Value input;
  bool descending, walks;
  SizeFacts facts;
  SmallVector<SymExpr> lead;
  // Of the rows that are sorted at present: their digits, and how they are cut into blocks.
  int64_t digitBits = 0, digits = 0;
  SymExpr blocks, block;
};

struct ExpandSorts : gir::impl::GraphExpandSortsBase<ExpandSorts> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ArgSortOp> sorts;
    getOperation()->walk([&](ArgSortOp op) { sorts.push_back(op); });
    for (ArgSortOp op : sorts) {
      OpBuilder builder(op);
      op.getResult().replaceAllUsesWith(Sorter(builder, op, walks).run(op.getFirst()));
      op.erase();
    }
  }
};
} // namespace
