//===- SelectFirst.cpp - The first elements of rows ------------------------===//
//
// An element is one word: its key above its index, so that words are distinct and their order is
// that of a stable sort. A row is divided into blocks, and each block has its smallest word. The k
// smallest words are in the k blocks whose smallest words come first. These blocks are found in the
// same way, from the smallest words of blocks of blocks, until so few words are left that their
// positions are counted: the number of words that precede each.
//
//   row:     n words      ──min of 16──▶  n/16 words  ──min of 8──▶  n/128 words ──count──▶ k of
//   them result:  k words  ◀──count──  16k words  ◀─gather─  k words  ◀──count──  8k words
//   ◀─gather─┘
//
// Rows are padded to whole blocks. A padded word has a bit above all keys, and a block without
// elements has the index of its first padded word.
//
//===----------------------------------------------------------------------===//
#include "RowBuilder.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

/// Times in comparisons of two words, of which a GPU does 2^24 in the time of a launch. An element
/// of a minimum is loaded and made a word.
static constexpr double kLaunch = 1 << 24, kMinimum = 4;
static constexpr int64_t kLongestBlock = 64;

namespace {

/// The lengths of blocks, from those of the row on, and the time per row.
struct Blocks {
  SmallVector<int64_t> lengths;
  double cost;
};

class Selector : RowBuilder {
public:
  Selector(OpBuilder &builder, ArgSortOp op) : RowBuilder(builder, op), count(*op.getFirst()) {}

  Value run();

private:
  Blocks divide(double words, double launch) const;
  Value stored(Value words) {
    return MaterializeOp::create(
        builder, loc, words.getType(), words, UnitAttr(), IntegerAttr(),
        builder.getStringAttr("every word is compared with the others of its row"));
  }
  Value counted(Value words);
  Value wordsOf(Value key, Value index) {
    return map(ScalarOp::Or, {map(ScalarOp::Shl, cast(key, width), indexBits), cast(index, width)});
  }
  Value indexOf(Value words) { return map(ScalarOp::And, words, (int64_t(1) << indexBits) - 1); }
  Value candidates(Value blocks, int64_t unit, int64_t length, Value words, Value key);

  int64_t count;
  int64_t indexBits = 0, padded = 0; ///< of a word; a padded word is at least `padded`
  unsigned width = 64;
};

/// How so many words of a row are divided at the least cost. Blocks of blocks are found from
/// theirs.
Blocks Selector::divide(double words, double launch) const {
  Blocks best{{}, words * words + launch};
  for (int64_t length = 2; length <= kLongestBlock && words / length >= count; length *= 2) {
    Blocks rest = divide(std::ceil(words / length), launch);
    double found = double(count * length);
    rest.cost += kMinimum * words + found * found + 3 * launch;
    if (rest.cost < best.cost) {
      best = rest;
      best.lengths.insert(best.lengths.begin(), length);
    }
  }
  return best;
}

/// The first words in order.
Value Selector::counted(Value words) {
  SymExpr length = type(words).getShape().back();
  Value mine = spread(words, length, 0), other = spread(words, length, 1);
  Value isBefore = cast(map(ScalarOp::Lt, {other, mine}), 32);
  Value place = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, isBefore,
                                      ArrayRef<int64_t>{rank() + 1});
  Value ordered = ScatterOp::create(builder, loc, type(words), words, cast(place, 64), rank());
  return take(ordered, SymExpr(count));
}

/// The words of these blocks of `length` words. An index of an element divided by `unit` is that of
/// a block. The row's own words are computed from their keys.
Value Selector::candidates(Value blocks, int64_t unit, int64_t length, Value words, Value key) {
  Value start = cast(map(ScalarOp::Shr, indexOf(blocks), std::countr_zero(uint64_t(unit))), 64);
  start = spread(map(ScalarOp::Mul, start, length), SymExpr(length), 0);
  Value index = map(ScalarOp::Add, {start, iota(type(start), rank() + 1)});
  index = reshape(index, SymExpr(count * length));
  if (words)
    return stored(gather(words, index));
  Value end = SizeOp::create(builder, loc, type(key).getShape().back());
  end = BroadcastOp::create(builder, loc, end, type(index).getShape(), ArrayRef<int64_t>());
  Value isInside = map(ScalarOp::Lt, {index, end});
  Value beyond = map(ScalarOp::Add, cast(index, width), padded);
  return stored(map(ScalarOp::Where, {isInside, wordsOf(gather(key, index), index), beyond}));
}

Value Selector::run() {
  auto [key, bits] = keys();
  SymExpr length = type(key).getShape().back();
  double rows = 1;
  for (SymExpr size : lead)
    rows *= double(std::max<int64_t>(facts.hint(size), 1));
  double elements = double(facts.hint(length)), launch = kLaunch / rows;
  Blocks blocks = divide(elements, launch);
  if (blocks.cost > sortCost(elements, facts.max(length), bits, launch))
    return {};

  int64_t whole = 1;
  for (int64_t each : blocks.lengths)
    whole *= each;
  int64_t longest = facts.max(length);
  if (longest > std::numeric_limits<int32_t>::max() - (count + 1) * whole)
    return {};
  // As many blocks as are wanted, also in short rows.
  SymExpr parts = SymExpr::max(length.ceilDiv(SymExpr(whole)), SymExpr(count));
  indexBits = std::bit_width(uint64_t(longest + (count + 1) * whole));
  int64_t wordBits = bits + indexBits + 1;
  if (wordBits > 63)
    return {};
  width = wordBits <= 31 ? 32 : 64;
  padded = int64_t(1) << (bits + indexBits);

  Value words = wordsOf(key, iota(type(key), rank()));
  SmallVector<Value> levels{words};
  if (whole > 1)
    words = RowBuilder::padded(words, parts * SymExpr(whole), padded);
  int64_t unit = 1;
  for (int64_t each : blocks.lengths) {
    unit *= each;
    words = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Min,
                                  reshape(words, {parts * SymExpr(whole / unit), SymExpr(each)}),
                                  ArrayRef<int64_t>{rank() + 1});
    if (levels.size() == 1) {
      Value first = map(ScalarOp::Mul, iota(type(words), rank()), unit);
      Value isEmpty = map(ScalarOp::Ge, words, padded);
      words = map(ScalarOp::Where, {isEmpty, map(ScalarOp::Add, first, padded), words});
    }
    words = stored(words);
    levels.push_back(words);
  }
  Value found = counted(levels.pop_back_val());
  for (int64_t each : llvm::reverse(blocks.lengths)) {
    Value from = levels.pop_back_val();
    found = counted(candidates(found, unit, each, levels.empty() ? Value() : from, key));
    unit /= each;
  }
  return cast(indexOf(found), 64);
}
} // namespace

Value gir::selectFirst(OpBuilder &builder, ArgSortOp op) { return Selector(builder, op).run(); }
