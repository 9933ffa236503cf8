//===- Exchanges.cpp - Operations across the lanes of a warp --------------===//
//
// Reductions, scans, layout conversions and MMA use elements that other lanes of the warp hold.
// Each is computed by its definition on the elements of the warp. Data of other warps comes through
// shared memory only, by explicit operations.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

bool TileCompiler::isWithinWarps(
    const Places &from,
    const std::function<void(unsigned, const std::function<void(uint64_t)> &)> &needs) {
  for (unsigned warp = 0; warp < warps; ++warp) {
    llvm::DenseSet<uint64_t> held;
    for (unsigned i = 0; i < from.count(); ++i)
      held.insert(from(warp, i));
    bool hasAll = true;
    needs(warp, [&](uint64_t element) { hasAll &= held.contains(element); });
    if (!hasAll)
      return false;
  }
  return true;
}

static LogicalResult expectWithin(Operation *op, bool isWithin) {
  if (isWithin)
    return success();
  return op->emitError(
      "expected operands within the warp; data of other warps goes through shared memory");
}

/// The elements of a tile that a warp holds, by their row-major index.
static std::vector<Number> gatherElements(const Frame &frame, unsigned slot, const Places &places,
                                          size_t count) {
  std::vector<Number> all(count, integer(0));
  const std::vector<Number> &numbers = frame.slots[slot].tile->values;
  for (unsigned i = 0; i < numbers.size(); ++i)
    all[places(frame.warp, i)] = numbers[i];
  return all;
}

static void scatterElements(Frame &frame, unsigned slot, const Places &places,
                            const std::vector<Number> &all) {
  TileRef made(new Tile(places.count()));
  for (unsigned i = 0; i < places.count(); ++i)
    made->values[i] = all[places(frame.warp, i)];
  frame.slots[slot].tile = std::move(made);
}

/// Maps an element to the one that it is reduced into.
static std::function<uint64_t(uint64_t)> without(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(dim)))
      rest.push_back(size);
  Space from = tile::spaceOf(shape), to = tile::spaceOf(rest);
  return [from, to, rank = int64_t(shape.size()),
          dims = SmallVector<int64_t>(dims)](uint64_t element) {
    Point point = from.unpack(element), kept;
    for (int64_t dim = 0, next = 0; dim < rank; ++dim)
      if (!llvm::is_contained(dims, dim))
        kept[tensorDim(next++)] = point[tensorDim(dim)];
    return to.pack(kept);
  };
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

LogicalResult TileCompiler::compileReduce(Operation *op, Value input, Value result,
                                          ArrayRef<int64_t> dims, ReduceOp kind, bool skipNan,
                                          bool isPartial, Step &step) {
  std::shared_ptr<Places> from = placesOf(input), to = placesOf(result);
  auto kept = without(typeOf(input).getShape(), dims);
  size_t count = typeOf(input).getNumElements(), results = typeOf(result).getNumElements();
  std::vector<uint32_t> goal(count);
  for (size_t element = 0; element < count; ++element)
    goal[element] = kept(element);
  // Partial results: the result's last dimension is the warp, and each warp has its own only.
  uint64_t parts = isPartial ? typeOf(result).getShape().back() : 1;
  results /= parts;
  bool isWithin = isPartial || isWithinWarps(*from, [&](unsigned warp, const auto &need) {
                    llvm::DenseSet<uint32_t> wanted;
                    for (unsigned i = 0; i < to->count(); ++i)
                      wanted.insert((*to)(warp, i));
                    for (size_t element = 0; element < count; ++element)
                      if (wanted.contains(goal[element]))
                        need(element);
                  });
  Element element = *Element::of(typeOf(input).getElementType());
  unsigned in = slotOf(input), out = slotOf(result);
  step.compute = [=, goal = std::move(goal)](Frame &frame) {
    std::vector<Number> reduced(results, integer(0));
    std::vector<uint8_t> isSeen(goal.size(), false), hasAny(results, false);
    // Sums of floats are rounded once, at the end, which is more accurate than any order.
    bool isSum = element.isFloat() && kind == ReduceOp::Sum;
    const std::vector<Number> &numbers = frame.slots[in].tile->values;
    for (unsigned i = 0; i < numbers.size(); ++i) {
      uint64_t at = (*from)(frame.warp, i);
      if (isSeen[at])
        continue; // a replica
      isSeen[at] = true;
      Number &sum = reduced[goal[at]];
      if (!hasAny[goal[at]])
        sum = numbers[i];
      else if (isSum)
        sum.real += numbers[i].real;
      else
        sum = combine(kind, element, sum, numbers[i], skipNan);
      hasAny[goal[at]] = true;
    }
    if (isSum)
      for (Number &sum : reduced)
        sum.real = element.round(sum.real);
    if (parts > 1) {
      std::vector<Number> repeated(results * parts);
      for (size_t i = 0; i < repeated.size(); ++i)
        repeated[i] = reduced[i / parts];
      reduced = std::move(repeated);
    }
    scatterElements(frame, out, *to, reduced);
  };
  return expectWithin(op, isWithin);
}

LogicalResult TileCompiler::compileScan(tile::ScanOp op, Step &step) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  std::shared_ptr<Places> places = placesOf(op.getInput()), init = placesOf(op.getInit()),
                          total = placesOf(op.getTotal()), result = placesOf(op.getResult());
  int64_t dim = op.getDim();
  auto kept = without(shape, {dim});
  size_t count = op.getInput().getType().getNumElements();
  std::vector<uint32_t> row(count);
  for (size_t element = 0; element < count; ++element)
    row[element] = kept(element);
  auto rowsOf = [&](unsigned warp, const Places &of, bool isTile) {
    llvm::DenseSet<uint32_t> rows;
    for (unsigned i = 0; i < of.count(); ++i)
      rows.insert(isTile ? row[of(warp, i)] : of(warp, i));
    return rows;
  };
  bool isWithin = isWithinWarps(*places, [&](unsigned warp, const auto &need) {
    llvm::DenseSet<uint32_t> wanted = rowsOf(warp, *result, true),
                             ends = rowsOf(warp, *total, false);
    wanted.insert(ends.begin(), ends.end());
    for (size_t element = 0; element < count; ++element)
      if (wanted.contains(row[element]))
        need(element);
  });
  isWithin &= isWithinWarps(*init, [&](unsigned warp, const auto &need) {
    for (uint32_t each : rowsOf(warp, *result, true))
      need(each);
  });
  Element element = *Element::of(op.getInput().getType().getElementType());
  unsigned in = slotOf(op.getInput()), first = slotOf(op.getInit()), out = slotOf(op.getResult()),
           last = slotOf(op.getTotal());
  size_t rows = typeOf(op.getInit()).getNumElements();
  // Row-major order visits the elements of each row in order.
  step.compute = [=, kind = op.getReduceOp(), isExclusive = op.getExclusive(),
                  row = std::move(row)](Frame &frame) {
    std::vector<Number> all = gatherElements(frame, in, *places, row.size());
    std::vector<Number> sums = gatherElements(frame, first, *init, rows);
    for (size_t at = 0; at < all.size(); ++at) {
      Number &sum = sums[row[at]], before = sum;
      sum = combine(kind, element, sum, all[at], /*skipNan=*/false);
      all[at] = isExclusive ? before : sum;
    }
    scatterElements(frame, out, *result, all);
    scatterElements(frame, last, *total, sums);
  };
  return expectWithin(op, isWithin);
}

LogicalResult TileCompiler::compileSort(tile::SortOp op, Step &step) {
  Space space = tile::spaceOf(op.getType().getShape());
  Dim along = tensorDim(op.getDim());
  size_t count = op.getType().getNumElements();
  unsigned shift = space.shift(along), size = space.bits(along);
  SmallVector<tile::SortOp::Step> network = op.getNetwork();
  std::shared_ptr<Places> places = placesOf(op.getInput()), result = placesOf(op.getResult());
  bool isWithin = isWithinWarps(*places, [&](unsigned warp, const auto &need) {
    for (unsigned i = 0; i < result->count(); ++i)
      for (auto [bit, phase] : network)
        need((*result)(warp, i) ^ uint64_t(1) << (shift + bit));
  });
  unsigned in = slotOf(op.getInput()), out = slotOf(op.getResult());
  step.compute = [=](Frame &frame) {
    std::vector<Number> all = gatherElements(frame, in, *places, count);
    for (auto [bit, phase] : network)
      for (size_t low = 0; low < count; ++low) {
        size_t high = low | size_t(1) << (shift + bit);
        bool descends = phase < size && (low >> (shift + phase) & 1);
        if (low != high &&
            (all[descends ? low : high].integer < all[descends ? high : low].integer))
          std::swap(all[low], all[high]);
      }
    scatterElements(frame, out, *result, all);
  };
  return expectWithin(op, isWithin);
}

//===----------------------------------------------------------------------===//
// Layout conversions and MMA
//===----------------------------------------------------------------------===//

LogicalResult TileCompiler::compileConvert(tile::ConvertOp op, Step &step) {
  std::shared_ptr<Places> from = placesOf(op.getInput()), to = placesOf(op.getResult());
  bool isWithin = isWithinWarps(*from, [&](unsigned warp, const auto &need) {
    for (unsigned i = 0; i < to->count(); ++i)
      need((*to)(warp, i));
  });
  unsigned in = slotOf(op.getInput()), out = slotOf(op.getResult());
  size_t count = op.getType().getNumElements();
  step.compute = [=](Frame &frame) {
    scatterElements(frame, out, *to, gatherElements(frame, in, *from, count));
  };
  return expectWithin(op, isWithin);
}

LogicalResult TileCompiler::compileMma(tile::MmaOp op, Step &step) {
  if (*tile::layoutOf(op.getAcc()) != *tile::layoutOf(op.getResult()))
    return op.emitError("expected accumulator and result in one layout");
  auto operand = [&](Value tile) { return Operand{slotOf(tile), placesOf(tile), typeOf(tile)}; };
  return compileMatmul(op, operand(op.getLhs()), operand(op.getRhs()), operand(op.getAcc()),
                       slotOf(op.getResult()), step);
}

LogicalResult TileCompiler::compileMatmul(Operation *op, const Operand &lhs, const Operand &rhs,
                                          const Operand &acc, unsigned result, Step &step) {
  ArrayRef<int64_t> shape = acc.type.getShape();
  int64_t n = shape.back(), m = shape.drop_back().back(), all = lhs.type.getShape()[1];
  int64_t k = acc.type.getRank() > 2 ? all / shape[0] : all; // of a part
  auto needsOf = [&](bool isLeft) {
    return [&, isLeft](unsigned warp, const std::function<void(uint64_t)> &need) {
      for (unsigned i = 0; i < acc.places->count(); ++i) {
        uint64_t at = (*acc.places)(warp, i);
        int64_t first = at / (m * n) * k;
        for (int64_t step = first; step < first + k; ++step)
          need(isLeft ? at / n % m * all + step : step * n + at % n);
      }
    };
  };
  bool isWithin =
      isWithinWarps(*lhs.places, needsOf(true)) && isWithinWarps(*rhs.places, needsOf(false));
  Element operand = *Element::of(lhs.type.getElementType()),
          sum = *Element::of(acc.type.getElementType());
  size_t leftCount = lhs.type.getNumElements(), rightCount = rhs.type.getNumElements();
  step.compute = [=](Frame &frame) {
    std::vector<Number> x = gatherElements(frame, lhs.slot, *lhs.places, leftCount), y(rightCount);
    std::vector<Number> given = gatherElements(frame, rhs.slot, *rhs.places, rightCount);
    for (int64_t step = 0; step < all; ++step) // columns one after the other
      for (int64_t column = 0; column < n; ++column)
        y[column * all + step] = given[step * n + column];
    const std::vector<Number> &old = frame.slots[acc.slot].tile->values;
    TileRef made(new Tile(old.size()));
    for (unsigned i = 0; i < old.size(); ++i) {
      uint64_t at = (*acc.places)(frame.warp, i);
      int64_t first = at / (m * n) * k;
      const Number *row = &x[at / n % m * all + first], *column = &y[at % n * all + first];
      if (operand.isFloat()) {
        double total = old[i].real;
        for (int64_t step = 0; step < k; ++step)
          total += row[step].real * column[step].real;
        made->values[i] = real(sum.round(total));
      } else {
        int64_t total = old[i].integer;
        for (int64_t step = 0; step < k; ++step)
          total += row[step].integer * column[step].integer;
        made->values[i] = sum.wrap(total);
      }
    }
    frame.slots[result].tile = std::move(made);
  };
  return expectWithin(op, isWithin);
}
